import { existsSync, lstatSync } from 'node:fs'
import { resolve } from 'node:path'
import { CorruptError } from '../../core/errors.ts'
import { openStore } from '../../stores/open.ts'
import { backupFile } from '../../stores/sqlite/backup.ts'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatBytes, plural } from '../output/number.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { formatDuration } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { locate } from '../store/store-location.ts'

/** `skein backup`: copies the store into a file while other processes write to it, and verifies the copy. */
export const backupCommand: CommandHandler = async (args, context) => {
  const { target, isFile } = context.location()
  const { target: to, isFile: isToFile } = locate(args.arguments[0]!, context.cwd, 'file')
  if (!isToFile) throw new UsageError('a backup is a file', 'To copy into another store: skein copy')
  if (!isFile) {
    throw new UsageError(
      'backup copies SQLite files, and this store is a PostgreSQL database',
      'Use pg_dump, or copy each conversation: skein copy <url> <file>',
    )
  }
  if (!existsSync(target)) throw new UsageError(`there is no store at ${target} yet`, 'Say something first')
  refuseToReplace(target, to, hasOption(args, 'force'))
  const began = performance.now()
  const isChecked = !hasOption(args, 'no-verify')
  const progress = createProgressBar(context, 'copying', 'pages')
  let messages: number | null = null
  try {
    const size = await backupFile(target, to, {
      signal: context.signal,
      onProgress: (done, total) => progress.show(done, total),
      ...(isChecked && {
        check: async unfinished => {
          messages = await check(unfinished, context)
        },
      }),
    })
    progress.end()
    tell(context, { file: to, bytes: size, verified: isChecked, messages, ms: performance.now() - began })
  } finally {
    progress.end()
  }
  return exitCode.ok
}

function refuseToReplace(target: string, to: string, force: boolean): void {
  const there = lstatSync(to, { throwIfNoEntry: false })
  if (resolve(target) === to) throw new UsageError('that is the store itself', 'Name another file')
  if (there && !there.isFile()) throw new UsageError(`${to} is not a regular file`, 'Name another')
  if (there && !force) throw new UsageError(`${to} already exists`, 'Overwrite it with --force')
}

/** A copy of a damaged store is damaged too, and not a backup. */
async function check(unfinished: string, context: CommandContext): Promise<number> {
  await using copy = await openStore(unfinished)
  const { findings, messages } = await copy.verify({ signal: context.signal })
  if (findings.damage > 0) {
    throw new CorruptError('the store is damaged, and so is its copy, which was not kept', {
      hint: `See: ${skeinCommand(context)} verify. To copy it all the same: --no-verify`,
    })
  }
  return messages
}

interface Receipt {
  readonly file: string
  readonly bytes: number
  readonly verified: boolean
  readonly messages: number | null
  readonly ms: number
}

function tell(context: CommandContext, receipt: Receipt): void {
  if (context.json) context.out.line(JSON.stringify({ ...receipt, ms: Math.round(receipt.ms) }))
  if (context.json || context.quiet) return
  const { dot } = context.err.style.symbols
  const { file, verified, messages, ms } = receipt
  const checked = verified ? `${plural(messages ?? 0, 'message')} checked` : 'not checked'
  context.err.line(
    `backed up to ${context.err.style.safe(file)} ${dot} ${formatBytes(receipt.bytes)} ${dot} ${checked} ${dot} ${formatDuration(ms)}`,
  )
}
