import type { Config } from '../../config/config.ts'
import { ownerOf } from '../../config/read-config.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { trustOf } from './trusted-files.ts'

/** A program or a server that a project's file names. */
export interface ProjectProgram {
  /** `mcp.files`, `agents.reviewer`. */
  readonly path: string
  readonly file: string
  /** The whole command line, or the URL: the person decides by it. */
  readonly command: string
}

/** A file that defines a part of the configuration and is not the user's own; null if there is none. */
export function projectFileOf(
  path: string,
  { sources }: Pick<Config, 'sources'>,
  { env }: Pick<CommandContext, 'env'>,
): string | null {
  const files = Object.entries(sources).flatMap(([key, source]) =>
    (key === path || key.startsWith(`${path}.`)) && source.kind === 'file' ? [source.file] : [],
  )
  return files.find(file => ownerOf(file, env) === 'project') ?? null
}

/** The programs and servers that the project's file names. */
export function projectPrograms(
  config: Config,
  context: Pick<CommandContext, 'env'>,
): readonly ProjectProgram[] {
  const named = [
    ...Object.entries(config.mcp).map(([name, one]) => [`mcp.${name}`, one] as const),
    ...Object.entries(config.agents).map(([name, one]) => [`agents.${name}`, one] as const),
  ]
  return named.flatMap(([path, one]) => {
    const file = projectFileOf(path, config, context)
    const command = 'url' in one ? one.url : 'command' in one ? commandLine(one) : null
    return file === null || command === null ? [] : [{ path, file, command }]
  })
}

function commandLine({
  command,
  args,
  env,
  cwd,
}: {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const where = cwd === undefined ? '' : ` (in ${cwd})`
  return `${[...variables, command, ...args].join(' ')}${where}`
}

/** Whether a part of the configuration may start programs: it is the user's own, or the person trusts its
 *  file. */
export function mayStart(
  path: string,
  config: Pick<Config, 'sources'>,
  context: Pick<CommandContext, 'env'>,
): boolean {
  const file = projectFileOf(path, config, context)
  return file === null || trustOf(file, context.env) === 'trusted'
}
