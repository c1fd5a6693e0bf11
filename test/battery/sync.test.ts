import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, type TestContext } from 'vitest'
import { note } from './note.ts'
import { keysOf, type Manner, words } from './writer.ts'

/** The system calls, one by one: an acknowledgement is worth as much as the sync before it. */
const turns = 200

function needStrace(context: TestContext): void {
  const tried = spawnSync('strace', ['-e', 'trace=none', process.execPath, '-e', ''], { encoding: 'utf8' })
  if (tried.error) context.skip('strace is not installed')
  if (tried.status !== 0) context.skip(`strace may not trace here: ${tried.stderr.trim().split('\n')[0]}`)
}

/** The system calls of a writer of `turns` turns in each conversation, in order. `fault` is what strace does
 *  to its syncs. */
async function tracedCalls(manner: Manner, fault = ''): Promise<readonly Call[]> {
  const count = turns / keysOf('writer', manner).length
  const folder = mkdtempSync(join(tmpdir(), 'sync-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const trace = join(folder, 'trace')
  const writer = join(import.meta.dirname, 'writer.ts')
  const child = spawn(
    'strace',
    // With the file's name after each descriptor (-y), in all threads (-f), whole pages (-s).
    [
      ...['-f', '-y', '-s', '4096', '-o', trace, '-e', 'trace=write,pwrite64,pwritev,fsync,fdatasync'],
      ...(fault === '' ? [] : ['-e', `inject=fdatasync:${fault}`]),
      ...[process.execPath, writer, join(folder, 'a.db'), 'writer', manner, String(count)],
    ],
    { stdio: ['pipe', 'ignore', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin.end('go\n')
  expect(await once(child, 'close')).toEqual([0, null])
  return callsOf(readFileSync(trace, 'latin1').split('\n'))
}

/** A system call: where it began and ended in the trace, and its line. strace writes a call in two lines if
 *  another thread calls meanwhile. */
interface Call {
  readonly thread: string
  readonly began: number
  readonly ended: number
  readonly text: string
}

function callsOf(lines: readonly string[]): readonly Call[] {
  const unfinished = new Map<string, { readonly began: number; readonly text: string }>()
  return lines.flatMap((line, ended) => {
    const [, thread, rest] = /^(\d+) +(.*)$/.exec(line) ?? []
    if (thread === undefined || rest === undefined) return []
    if (rest.endsWith(' <unfinished ...>')) {
      unfinished.set(thread, { began: ended, text: rest.slice(0, -' <unfinished ...>'.length) })
      return []
    }
    const end = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1]
    if (end === undefined) return [{ thread, began: ended, ended, text: rest }]
    const { began, text } = unfinished.get(thread)!
    return [{ thread, began, ended, text: text + end }]
  })
}

const logWrite = /^(?:pwrite64|pwritev|write)\(\d+<[^>]*-wal>, "/
const logSync = /^f(?:data)?sync\(\d+<[^>]*-wal>\).* = 0( \(DELAYED\))?$/
const acknowledgement = /^write\(1<[^>]*>, "stored (\d+) ([^"]*)\\n"/

/** The number of acknowledgements, and of those whose transaction was synced: a sync began after its last
 *  page was written to the log, and ended before the acknowledgement. */
function syncedBeforeTold(calls: readonly Call[]) {
  const written = calls.filter(({ text }) => logWrite.test(text))
  const syncs = calls.filter(({ text }) => logSync.test(text))
  let told = 0
  let synced = 0
  for (const { text, began } of calls) {
    const [, turn, key] = acknowledgement.exec(text) ?? []
    if (turn === undefined || key === undefined) continue
    told++
    const committed = commitOf(words(key, Number(turn), 0), written)
    if (syncs.some(sync => sync.began > committed && sync.ended < began)) synced++
  }
  return { told, synced, syncs: syncs.length }
}

/** Where the transaction that stored a text ends in the trace. */
function commitOf(text: string, written: readonly Call[]): number {
  const stored = written.findIndex(call => call.text.includes(`"${text}\\"`))
  const header = written.findIndex((call, i) => i >= stored - 1 && isCommit(call.text))
  // Its page follows the header.
  return stored === -1 || header === -1 ? Number.POSITIVE_INFINITY : written[header + 1]!.ended
}

/** Whether a write is the header of the last page of a transaction: 24 bytes, of which the second four are
 *  the size of the file in pages. Those of other pages are 0. */
function isCommit(text: string): boolean {
  const [, escaped] = /^pwrite64\(\d+<[^>]*>, "(.*)", 24, \d+\) += 24$/.exec(text) ?? []
  return (
    escaped !== undefined &&
    bytesOf(escaped)
      .slice(4, 8)
      .some(byte => byte !== 0)
  )
}

/** The bytes of a text as strace writes it: `\n`, `\0`, `\377`. */
function bytesOf(text: string): readonly number[] {
  const named: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13 }
  return Array.from(text.matchAll(/\\([0-7]{1,3})|\\(.)|([^\\])/gs), ([, octal, escaped, plain]) => {
    if (octal !== undefined) return Number.parseInt(octal, 8)
    return escaped === undefined ? plain!.charCodeAt(0) : (named[escaped] ?? escaped.charCodeAt(0))
  })
}

it('syncs the log before each acknowledgement with the default settings (R3)', {
  timeout: 120_000,
}, async context => {
  needStrace(context)
  const { told, synced } = syncedBeforeTold(await tracedCalls('honest'))
  note('acknowledged', told)
  note('synced before', synced)
  expect({ told, synced }).toEqual({ told: turns, synced: turns })
})

for (const [disk, fault] of [
  ['a fast disk', ''],
  // Microseconds.
  ['a slow disk', 'delay_exit=4000'],
] as const) {
  it(`syncs the log of ${disk} before it acknowledges turns that share a transaction (R3)`, {
    timeout: 120_000,
  }, async context => {
    needStrace(context)
    const { told, synced, syncs } = syncedBeforeTold(await tracedCalls('parallel', fault))
    note(`acknowledged, eight at a time, ${disk}`, told)
    note(`syncs for them, ${disk}`, syncs)
    expect({ told, synced }).toEqual({ told: turns, synced: turns })
    expect(syncs).toBeLessThan(turns)
  })
}

it('syncs the log of a slow disk in another thread before each acknowledgement (R3)', {
  timeout: 120_000,
}, async context => {
  needStrace(context)
  // Microseconds.
  const calls = await tracedCalls('honest', 'delay_exit=4000')
  const { told, synced } = syncedBeforeTold(calls)
  note('acknowledged, slow disk', told)
  note('synced before, slow disk', synced)
  expect({ told, synced }).toEqual({ told: turns, synced: turns })
  const threads = calls.filter(({ text }) => logSync.test(text)).map(({ thread }) => thread)
  expect(new Set(threads).size).toBeGreaterThan(1)
})

it('writes the log again and syncs it after a failed sync, before the next acknowledgement (R3)', {
  timeout: 120_000,
}, async context => {
  needStrace(context)
  // Each thread counts its own.
  const calls = await tracedCalls('retrying', `error=EIO:when=${turns / 2}`)
  const find = (pattern: RegExp, from = 0) =>
    calls.findIndex(({ text }, i) => i >= from && pattern.test(text))
  const failed = find(/^fdatasync\(\d+<[^>]*-wal>\).* = -1 EIO/)
  // The header, and everything behind it at once.
  const written = find(/^pwrite64\(\d+<[^>]*-wal>, .*, 32, 0\) = 32$/, failed)
  const rest = find(/^pwrite64\(\d+<[^>]*-wal>, .*, \d{5,}, 32\) = \d+$/, written)
  const synced = find(/^f(data)?sync\(\d+<[^>]*-wal>\).* = 0/, rest)
  const acknowledged = find(acknowledgement, failed)
  const inOrder = [failed, written, rest, synced, acknowledged]
  expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b))
  expect(failed).toBeGreaterThan(0)
  expect(find(/^pwrite64\(\d+<[^>]*\/a\.db>/, failed)).not.toBeLessThan(acknowledged)
  expect(calls.filter(({ text }) => acknowledgement.test(text))).toHaveLength(turns)
})

it('control: does not sync with durability normal, or if the acknowledgement comes first', {
  timeout: 120_000,
}, async context => {
  needStrace(context)
  const normal = syncedBeforeTold(await tracedCalls('normal'))
  note('synced before, durability normal', normal.synced)
  expect(normal.told).toBe(turns)
  // An occasional checkpoint syncs the log as well.
  expect(normal.synced).toBeLessThan(turns / 10)
  const early = syncedBeforeTold(await tracedCalls('early'))
  note('synced before, acknowledged early', early.synced)
  // There is still a sync between two of its acknowledgements, but none before the first.
  expect(early.synced).toBeLessThan(turns)
})
