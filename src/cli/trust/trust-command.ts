import { resolve } from 'node:path'
import { inspectConfig, ownerOf, shownPath } from '../../config/read-config.ts'
import type { CommandHandler } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { printNote } from '../output/print.ts'
import { tableLines } from '../output/table.ts'
import { tildify } from '../output/tildify.ts'
import { programLines } from './ask-trust.ts'
import { projectPrograms } from './project-programs.ts'
import { forgetTrust, rememberTrust, trustAnswers, trustOf } from './trusted-files.ts'

/** `skein config trust`: lets the project's file start its MCP servers and agents, until it changes. */
export const configTrustCommand: CommandHandler = async (args, context) => {
  const [verb, file] = args.arguments
  if (verb === 'ls') list(context)
  else if (verb === 'rm') await remove(file, context)
  else if (verb === undefined) await trust(context)
  else throw new UsageError(`config trust has no verb ${verb}`, 'skein config trust, trust ls or trust rm')
  return exitCode.ok
}

async function projectFile({ cwd, env }: CommandContext) {
  const { config } = await inspectConfig(cwd, env)
  const file = config.files.find(one => ownerOf(one, env) === 'project')
  if (file === undefined) throw new UsageError('there is no skein.yaml of a project here', 'skein config')
  return { config, file }
}

async function trust(context: CommandContext): Promise<void> {
  const { env, err } = context
  const { config, file } = await projectFile(context)
  const programs = projectPrograms(config, context)
  const shown = shownPath(file, context.cwd, env)
  rememberTrust(file, 'trusted', env, context.now())
  if (context.json) {
    const starts = programs.map(({ path, command }) => ({ path, command }))
    context.out.line(JSON.stringify({ file, starts }))
    return
  }
  if (programs.length === 0) {
    printNote(context, `${shown} is trusted until it changes. It starts nothing`)
    return
  }
  printNote(context, `${shown} is trusted until it changes. It may start:`)
  if (!context.quiet) for (const line of programLines(programs, err)) err.line(line)
  printNote(context, 'undo: skein config trust rm')
}

function list(context: CommandContext): void {
  const { out, env } = context
  const answers = trustAnswers(env).map(one => ({ ...one, holds: trustOf(one.file, env) !== null }))
  if (context.json) {
    out.line(JSON.stringify(answers))
    return
  }
  if (answers.length === 0) printNote(context, 'no file of a project is trusted')
  const rows = answers.map(({ file, answer, at, holds }) => [
    holds ? answer : 'changed since',
    at.slice(0, 10),
    out.style.safe(out.isTerminal ? tildify(file, env) : file),
  ])
  if (!out.isTerminal) for (const row of rows) out.line(row.join('\t'))
  else
    for (const line of tableLines(rows, [{}, {}, { shrinksTo: 20, cutsMiddle: true }], out.width))
      out.line(line)
}

async function remove(named: string | undefined, context: CommandContext): Promise<void> {
  const file = named === undefined ? (await projectFile(context)).file : resolve(context.cwd, named)
  const wasKnown = forgetTrust(file, context.env)
  const shown = shownPath(file, context.cwd, context.env)
  if (context.json) context.out.line(JSON.stringify({ file, removed: wasKnown }))
  printNote(context, wasKnown ? `${shown} is not trusted any more` : `${shown} was not trusted`)
}
