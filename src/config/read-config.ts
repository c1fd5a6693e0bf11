// `config` reads `skein.yaml` and the environment. This file finds the files and merges the sources;
// `yaml-file.ts` parses one with line numbers, `sections.ts` and `values.ts` check it, `config.ts` is the
// result. May import core only.

import { statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { InvalidError } from '../core/errors.ts'
import { homeFolder } from '../system/home-folder.ts'
import {
  acpDefaults,
  type Config,
  conversationDefaults,
  type ShadowedMember,
  type ValueSource,
} from './config.ts'
import { conversationSettings, variableOf } from './conversation-settings.ts'
import { discordDefaults } from './discord-settings.ts'
import { configFolder, type Environment } from './folder.ts'
import { defaultNote, type Findings, sectionOf } from './section.ts'
import { type Draft, type FileOwner, takeSections } from './sections.ts'
import { serverDefaults } from './server-settings.ts'
import { keysFile, readStoredKeys } from './stored-keys.ts'
import { toolDefaults } from './tool-settings.ts'
import type { Entry } from './yaml-file.ts'

/** A configuration and its problems. A setting with a problem has its default. */
export interface InspectedConfig {
  readonly config: Config
  readonly problems: readonly InvalidError[]
}

/** Reads the settings: the user's file, then the project's (the nearest `skein.yaml` in or above the working
 *  directory), then the environment; the later source wins. Throws InvalidError with the offending line. */
export async function readConfig(cwd: string, env: Environment): Promise<Config> {
  const { config, problems } = await inspectConfig(cwd, env)
  if (problems.length > 0) throw problems[0]!
  return config
}

/** The same, but returns all problems instead of throwing the first. */
export async function inspectConfig(cwd: string, env: Environment): Promise<InspectedConfig> {
  const { files, ignored } = findFiles(cwd, env)
  const draft = emptyDraft()
  const problems: InvalidError[] = []
  const sources: Record<string, ValueSource> = {}
  const shadowed: ShadowedMember[] = []
  for (const file of files) {
    const shown = shownPath(file, cwd, env)
    try {
      const { readYamlFile } = await import('./yaml-file.ts')
      const root = await readYamlFile(file, shown)
      const found = takeFile(root, { file, shown, owner: ownerOf(file, env) }, draft)
      problems.push(...found.problems)
      shadowed.push(...found.shadowed)
      Object.assign(sources, found.sources)
    } catch (error) {
      if (!(error instanceof InvalidError)) throw error
      problems.push(error)
    }
  }
  takeStoredKeys(env, draft, sources, problems)
  takeEnvironment(env, draft, sources, problems)
  return { config: { ...draft, sources, files, ignored, shadowed }, problems }
}

/** A file whose text was parsed. */
interface ParsedFile {
  readonly file: string
  /** Its name in messages. */
  readonly shown: string
  readonly owner: FileOwner
}

/** The result of one file. */
interface FileFindings {
  readonly problems: readonly InvalidError[]
  readonly sources: Readonly<Record<string, ValueSource>>
  readonly shadowed: readonly ShadowedMember[]
}

function takeFile(root: Entry, { file, shown, owner }: ParsedFile, draft: Draft): FileFindings {
  const problems: Findings['problems'] = []
  const sources: Findings['sources'] = {}
  const shadowed = takeSections(sectionOf(root, '', { shown, file, problems, sources }), draft, owner)
  const lineOf = (path: string) => {
    const source = sources[path]
    return source?.kind === 'file' ? source.line : 1
  }
  const isUsed = (path: string) => !shadowed.some(one => path === one || path.startsWith(`${one}.`))
  return {
    problems: problems.sort((a, b) => a.line - b.line).map(({ error }) => error),
    sources: Object.fromEntries(Object.entries(sources).filter(([path]) => isUsed(path))),
    shadowed: shadowed.map(path => ({ path, file, line: lineOf(path) })),
  }
}

/** The problems of a text that is not in its file yet, as the file would have them. */
export async function problemsOfText(
  text: string,
  file: string,
  cwd: string,
  env: Environment,
): Promise<readonly InvalidError[]> {
  const shown = shownPath(file, cwd, env)
  const { parseYaml } = await import('./yaml-file.ts')
  try {
    const root = await parseYaml(text, shown)
    return takeFile(root, { file, shown, owner: ownerOf(file, env) }, emptyDraft()).problems
  } catch (error) {
    if (error instanceof InvalidError) return [error]
    throw error
  }
}

/** The files in the user's configuration folder are the user's own; every other one is that of a project. */
export function ownerOf(file: string, env: Environment): FileOwner {
  return dirname(file) === configFolder(env) ? 'user' : 'project'
}

function emptyDraft(): Draft {
  return {
    model: null,
    models: {},
    modelSettings: {},
    providers: {},
    options: {},
    conversation: conversationDefaults,
    channels: {},
    projects: {},
    mcp: {},
    agents: {},
    acp: acpDefaults,
    tools: toolDefaults,
    server: serverDefaults,
    discord: discordDefaults,
    subagents: {},
  }
}

/** A stored key wins over one in `skein.yaml`. */
function takeStoredKeys(
  env: Environment,
  draft: Draft,
  sources: Record<string, ValueSource>,
  problems: InvalidError[],
): void {
  try {
    for (const [name, key] of Object.entries(readStoredKeys(env))) {
      const before = draft.providers[name] ?? { key: null, baseUrl: null }
      draft.providers = { ...draft.providers, [name]: { ...before, key } }
      sources[`providers.${name}.key`] = { kind: 'stored', file: keysFile(env) }
    }
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error
    problems.push(error)
  }
}

/** `SKEIN_MODEL`, `DISCORD_TOKEN`, and `SKEIN_` followed by the name of a conversation setting. An empty
 *  variable counts as unset. */
function takeEnvironment(
  env: Environment,
  draft: Draft,
  sources: Record<string, ValueSource>,
  problems: InvalidError[],
): void {
  const model = env.SKEIN_MODEL?.trim()
  if (model) {
    draft.model = model
    sources.model = { kind: 'environment', variable: 'SKEIN_MODEL' }
  }
  const token = env.DISCORD_TOKEN?.trim()
  if (token) {
    draft.discord = { ...draft.discord, token }
    sources['discord.token'] = { kind: 'environment', variable: 'DISCORD_TOKEN' }
  }
  for (const { field, name, reader, standard } of conversationSettings) {
    const variable = variableOf({ name })
    const given = env[variable]?.trim()
    if (!given) continue
    const value = reader(given)
    if (value instanceof Error) {
      const problem = `${JSON.stringify(given)} ${value.message}${defaultNote(standard ?? undefined)}`
      problems.push(new InvalidError(variable, problem))
      continue
    }
    draft.conversation = { ...draft.conversation, [field]: value }
    sources[`conversation.${name}`] = { kind: 'environment', variable }
  }
}

/** A path as seen from `cwd`: `./skein.yaml`, `../skein.yaml`, `~/.config/skein/…`. */
export function shownPath(file: string, cwd: string, env: Environment): string {
  const near = relative(cwd, file)
  const levels = relative(dirname(file), cwd).split(sep).filter(Boolean).length
  if (!near.startsWith('..')) return `./${near}`
  if (levels <= 2 && /^(\.\.[/\\])+[^/\\]+$/.test(near)) return near
  const home = homeFolder(env)
  return home !== null && file.startsWith(home + sep) ? `~${file.slice(home.length)}` : file
}

interface FoundFiles {
  /** In ascending order of precedence: the user's file, then the project's. */
  readonly files: readonly string[]
  readonly ignored: readonly string[]
}

const names = ['skein.yaml', 'skein.yml']

/** The file of the user, whether it exists or not. */
export function userConfigFile(env: Environment): string {
  return inFolder(configFolder(env), []) ?? join(configFolder(env), names[0]!)
}

/** Finds the user's file, and the nearest file in or above the working directory. */
function findFiles(cwd: string, env: Environment): FoundFiles {
  const ignored: string[] = []
  const users = inFolder(configFolder(env), ignored)
  let project: string | undefined
  for (let folder = cwd; !project; folder = dirname(folder)) {
    project = inFolder(folder, ignored)
    if (dirname(folder) === folder) break
  }
  return { files: [...new Set([users, project].filter(file => file !== undefined))], ignored }
}

function inFolder(folder: string, ignored: string[]): string | undefined {
  for (const name of names) {
    const file = join(folder, name)
    const found = statSync(file, { throwIfNoEntry: false })
    if (!found?.isFile()) continue
    if (isOurs(found.uid)) return file
    ignored.push(`${file} belongs to another user`)
  }
  return undefined
}

/** A file names programs to start, so a file of another user above the working directory (in /tmp, for
 *  example) is ignored. */
function isOurs(uid: number): boolean {
  const own = process.getuid?.()
  return own === undefined || own === 0 || uid === own || uid === 0
}
