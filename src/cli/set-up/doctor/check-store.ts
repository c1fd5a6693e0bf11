import { accessSync, constants, existsSync, readFileSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Verified, Verifier } from '../../../core/finding.ts'
import { fileSystemOf, isNetworkFileSystem } from '../../../system/file-system.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { errorReport } from '../../command-line/error-report.ts'
import { formatBytes, formatInteger, plural } from '../../output/number.ts'
import { createProgressBar } from '../../output/progress-bar.ts'
import { skeinCommand } from '../../store/skein-command.ts'
import { shownLocation } from '../../store/store-location.ts'
import type { Check } from './check.ts'

/** Where the store is, whether it can be written, and whether a sample of it is sound. */
export async function checkStore(context: CommandContext): Promise<readonly Check[]> {
  const { target, isFile } = context.location()
  const shown = shownLocation(context)
  if (isFile && !existsSync(target)) return [newPlace(target, shown)]
  try {
    const store = await context.store()
    const facts = [
      shown,
      `schema ${await store.schemaVersion()}`,
      ...(isFile ? [sizeOf(target), modeOf(target)] : []),
    ]
    const { dot } = context.out.style.symbols
    const about: Check = { name: 'store', status: 'ok', message: facts.join(` ${dot} `) }
    return [about, ...(isFile ? accessNotes(target, shown) : []), await checkSample(store, context)]
  } catch (error) {
    const { message, hint } = errorReport(error)
    return [{ name: 'store', status: 'failed', message: `${shown}: ${message}${hint ? `. ${hint}` : ''}` }]
  }
}

/** A missing store is not a problem if it can be created. */
function newPlace(target: string, shown: string): Check {
  let folder = dirname(target)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return isWritable(folder)
    ? { name: 'store', status: 'ok', message: `${shown} is created with the first message` }
    : { name: 'store', status: 'failed', message: `${shown} cannot be made: ${folder} is not writable` }
}

/** Free bytes below which a store can hardly be written. */
const leastFree = 65_536

function accessNotes(target: string, shown: string): readonly Check[] {
  const notes: Check[] = []
  if (!isWritable(target) || !isWritable(dirname(target))) {
    notes.push({
      name: 'store',
      status: 'failed',
      message: `read-only, reading works. To write: chmod u+w ${shown}`,
    })
  }
  const { bavail, bsize } = statfsSync(dirname(target))
  if (bavail * bsize < leastFree) {
    notes.push({
      name: 'store',
      status: 'failed',
      message: `the disk of ${shown} is full, reading works. Free some space`,
    })
  }
  const type = networkType(target)
  if (type !== null)
    notes.push({
      name: 'store',
      status: 'note',
      message: `${shown} is on a network file system (${type}), where SQLite cannot lock reliably. Use a local disk, or PostgreSQL: --db postgres://…`,
    })
  if (othersMayRead(target)) {
    notes.push({
      name: 'store',
      status: 'note',
      message: `others may read it. To keep it to yourself: chmod 600 ${shown}`,
    })
  }
  return notes
}

/** The type of the file system, if it is on another machine. */
function networkType(target: string): string | null {
  let mounts: string
  try {
    mounts = readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return null // Not a Linux system.
  }
  const type = fileSystemOf(realpathSync(dirname(target)), mounts)
  return type !== null && isNetworkFileSystem(type) ? type : null
}

/** Whether users other than its owner can read a file. */
export function othersMayRead(file: string): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
  return process.platform !== 'win32' && (mode & 0o077) !== 0
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function sizeOf(target: string): string {
  const log = statSync(`${target}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return formatBytes(statSync(target).size + log)
}

function modeOf(target: string): string {
  return (statSync(target).mode & 0o777).toString(8).padStart(4, '0')
}

const sample = 1_000

async function checkSample(store: Verifier, context: CommandContext): Promise<Check> {
  const progress = createProgressBar(context, 'checking', 'messages')
  let verified: Verified
  try {
    verified = await store.verify({
      sampleSize: sample,
      signal: context.signal,
      onProgress: ({ messages }) => progress.show(messages, sample),
    })
  } finally {
    progress.end()
  }
  const { messages: checked, findings } = verified
  if (findings.damage > 0) {
    return {
      name: 'verify',
      status: 'failed',
      message: `${plural(findings.damage, 'message')} damaged among the newest ${formatInteger(checked)}. All of them: ${skeinCommand(context)} verify`,
    }
  }
  const which =
    checked < sample ? `all ${plural(checked, 'message')}` : `newest ${formatInteger(checked)} messages`
  return {
    name: 'verify',
    status: 'ok',
    message: checked === 0 ? 'nothing to check yet' : `${which} ${checked === 1 ? 'is' : 'are'} sound`,
  }
}
