import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  inspectConfig,
  ownerOf,
  problemsOfText,
  shownPath,
  userConfigFile,
} from '../../../config/read-config.ts'
import { type CommandHandler, hasOption } from '../../command-line/command.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { confirm } from '../../command-line/confirm.ts'
import { exitCode } from '../../command-line/exit-code.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { printNote } from '../../output/print.ts'
import { wrapForTerminal } from '../../output/wrap.ts'
import { readSettingsFile, writeSettingsFile } from './settings-file.ts'

/** The beginning of a new file. */
const template = `# Settings of Skein: docs/config.md. Check: skein doctor
#
# model: sonnet
# conversation:
#   max_tokens: 100_000
`

/** `skein config edit`: opens the file in the user's editor, and checks it afterwards. */
export const configEditCommand: CommandHandler = async (args, context) => {
  const { cwd, env, err } = context
  if (hasOption(args, 'project') && hasOption(args, 'user'))
    throw new UsageError('--user and --project cannot be used together', 'Drop one')
  const file = await fileToEdit(hasOption(args, 'project'), context)
  const editor = env.VISUAL?.trim() || env.EDITOR?.trim()
  if (!editor)
    throw new UsageError(
      'no editor is set',
      `Set EDITOR, or open the file yourself: ${shownPath(file, cwd, env)}`,
    )
  const isNew = !existsSync(file)
  const before = isNew ? template : readSettingsFile(file)
  if (isNew) writeSettingsFile(file, template)
  for (;;) {
    await runEditor(editor, file)
    const after = readSettingsFile(file)
    if (isNew && (after === template || after.trim() === '')) {
      rmSync(file, { force: true })
      printNote(context, 'nothing was written, so there is no new file')
      return exitCode.ok
    }
    const problems = await problemsOfText(after, file, cwd, env)
    for (const { message } of problems)
      err.line(
        wrapForTerminal(`${err.style.failed(err.style.symbols.failed)} ${err.style.safe(message)}`, err),
      )
    if (problems.length === 0) {
      const what = after === before ? 'was not changed' : 'is saved, and every setting in it is known'
      printNote(context, `${shownPath(file, cwd, env)} ${what}`)
      return exitCode.ok
    }
    if (!context.canAsk || !(await confirm('Open it again?', context))) return exitCode.usage
  }
}

async function fileToEdit(isProject: boolean, { cwd, env }: CommandContext): Promise<string> {
  if (!isProject) return userConfigFile(env)
  const { config } = await inspectConfig(cwd, env)
  return config.files.find(file => ownerOf(file, env) === 'project') ?? join(cwd, 'skein.yaml')
}

/** The variable may have arguments and quotes, so a shell parses it, as git does. */
async function runEditor(editor: string, file: string): Promise<void> {
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
  const ended = Promise.withResolvers<number | null>()
  child.on('error', ended.reject)
  child.on('close', code => ended.resolve(code))
  const code = await ended.promise
  if (code !== 0) throw new UsageError(`${editor} ended with an error`, 'Set EDITOR to another editor')
}
