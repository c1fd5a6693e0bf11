import { existsSync, lstatSync } from 'node:fs'
import { resolve } from 'node:path'
import { CorruptError } from '../../core/errors.ts'
import { openStore } from '../../stores/open.ts'
import { backupFile } from '../../stores/sqlite/backup.ts'
import { hasOption, type Run } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { bytes, plural } from '../output/number.ts'
import { progressLine } from '../output/progress-line.ts'
import { duration } from '../output/time.ts'
import { isServerUrl } from '../store/store-location.ts'

/** Copies the store into a file while others write to it, and checks the copy. */
export const backup: Run = async (given, world) => {
  const { target } = world.place()
  const to = resolve(world.cwd, given.arguments[0]!)
  if (isServerUrl(target)) {
    throw new UsageError(
      'a backup of one moment is for the server to make',
      'pg_dump; or, conversation by conversation: skein copy <url> <file>',
    )
  }
  if (!existsSync(target)) throw new UsageError(`there is no store at ${target} yet`, 'Say something first')
  refuseToReplace(target, to, hasOption(given, 'force'))
  const began = performance.now()
  const isChecked = !hasOption(given, 'no-verify')
  const progress = progressLine(world, 'copying', 'pages')
  let messages: number | null = null
  try {
    const size = await backupFile(target, to, {
      signal: world.signal,
      onProgress: (done, total) => progress.show(done, total),
      ...(isChecked && {
        check: async unfinished => {
          messages = await check(unfinished, world)
        },
      }),
    })
    progress.end()
    tell(world, { file: to, bytes: size, verified: isChecked, messages, ms: performance.now() - began })
  } finally {
    progress.end()
  }
  return exit.ok
}

function refuseToReplace(target: string, to: string, force: boolean): void {
  const there = lstatSync(to, { throwIfNoEntry: false })
  if (resolve(target) === to) throw new UsageError('that is the store itself', 'Name another file')
  if (there && !there.isFile()) throw new UsageError(`${to} is no plain file`, 'Name another')
  if (there && !force) throw new UsageError(`${to} is there already`, 'To write over it: --force')
}

/** A copy of something damaged is damaged: whoever makes a backup wants to know. */
async function check(unfinished: string, world: World): Promise<number> {
  await using copy = await openStore(unfinished)
  const { findings, messages } = await copy.verify({ signal: world.signal })
  if (findings.damage > 0) {
    throw new CorruptError(
      `the store is damaged, and so is its copy, which was not kept. See: skein verify. To copy it all the same: --no-verify`,
    )
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

function tell(world: World, receipt: Receipt): void {
  if (world.json) world.out.line(JSON.stringify({ ...receipt, ms: Math.round(receipt.ms) }))
  if (world.json || world.quiet) return
  const { dot } = world.err.style.symbols
  const { file, verified, messages, ms } = receipt
  const checked = verified ? `${plural(messages ?? 0, 'message')} checked` : 'not checked'
  world.err.line(
    `backed up to ${world.err.style.safe(file)} ${dot} ${bytes(receipt.bytes)} ${dot} ${checked} ${dot} ${duration(ms)}`,
  )
}
