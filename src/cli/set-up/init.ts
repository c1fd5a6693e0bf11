import { chmodSync, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** `skein init`: creates a store for this directory. Does nothing if it exists. */
export const initCommand: CommandHandler = async (args, context) => {
  if (hasOption(args, 'db'))
    throw new UsageError('init makes .skein/ here, and --db names another place', 'Drop it.')
  const folder = join(context.cwd, '.skein')
  const file = join(folder, 'conversations.db')
  const created = !existsSync(file)
  const there = lstatSync(folder, { throwIfNoEntry: false })
  if (there && !there.isDirectory())
    throw new UsageError('.skein is there already, and is no folder', 'Move it away')
  if (created) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // The folder may have existed with wider permissions.
    chmodSync(folder, 0o700)
    const ignore = join(folder, '.gitignore')
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n', { mode: 0o600, flag: 'wx' })
    const { openStore } = await import('../../stores/open.ts')
    await (await openStore(file)).close()
  }
  if (context.json) context.out.line(JSON.stringify({ folder, file, created }))
  else if (!context.quiet) {
    const { style } = context.err
    const { dot, note } = style.symbols
    if (created)
      context.err.line(`made .skein/ ${dot} conversations of this directory are kept in it now, out of git`)
    else context.err.line('.skein/ is here already. Nothing was changed')
    if (context.env.SKEIN_DB) context.err.line(`${style.note(note)} SKEIN_DB is set, and wins over it`)
  }
  return exitCode.ok
}
