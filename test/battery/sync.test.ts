import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, type TestContext } from 'vitest'
import { note } from './note.ts'
import { keysOf, type Manner } from './writer.ts'

/** The system calls, one by one: an acknowledgement is worth as much as the sync before it. */
const turns = 200

function needStrace(context: TestContext): void {
  const tried = spawnSync('strace', ['-e', 'trace=none', process.execPath, '-e', ''], { encoding: 'utf8' })
  if (tried.error) context.skip('strace is not installed')
  if (tried.status !== 0) context.skip(`strace may not trace here: ${tried.stderr.trim().split('\n')[0]}`)
}

/** The system calls of a writer of `turns` turns in each conversation, in order. */
async function tracedCalls(manner: Manner): Promise<readonly string[]> {
  const count = turns / keysOf('writer', manner).length
  const folder = mkdtempSync(join(tmpdir(), 'sync-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const trace = join(folder, 'trace')
  const writer = join(import.meta.dirname, 'writer.ts')
  const child = spawn(
    'strace',
    // With the file's name after each descriptor (-y), in all threads (-f), whole names (-s).
    [
      ...['-f', '-y', '-s', '64', '-o', trace, '-e', 'trace=write,pwrite64,pwritev,fsync,fdatasync'],
      ...[process.execPath, writer, join(folder, 'a.db'), 'writer', manner, String(count)],
    ],
    { stdio: ['pipe', 'ignore', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin.end('go\n')
  expect(await once(child, 'close')).toEqual([0, null])
  return wholeCalls(readFileSync(trace, 'utf8').split('\n'))
}

/** strace writes a call in two lines if another thread calls meanwhile. Joins them where the call ended. */
function wholeCalls(lines: readonly string[]): readonly string[] {
  const begun = new Map<string, string>()
  return lines.flatMap(line => {
    const [thread] = line.split(' ', 1) as [string]
    const beginning = /^(.*) <unfinished \.\.\.>$/.exec(line)?.[1]
    if (beginning !== undefined) begun.set(thread, beginning)
    if (beginning !== undefined) return []
    const rest = /^\d+ +<\.\.\. \w+ resumed>(.*)$/.exec(line)?.[1]
    return [rest === undefined ? line : `${begun.get(thread)}${rest}`]
  })
}

/** The number of acknowledgements before which the log had been written and then synced since the previous
 *  one, and of those that came while the log had writes that were not synced. */
function syncedBeforeTold(calls: readonly string[]) {
  const log = /^\d+ +(pwrite64|pwritev|write)\(\d+<[^>]*-wal>/
  const sync = /^\d+ +f(data)?sync\(\d+<[^>]*-wal>\).* = 0$/
  const tell = /^\d+ +write\(1<[^>]*>, "(ready|stored \d+ [^"]*)\\n"/
  let state: 'untouched' | 'written' | 'synced' = 'untouched'
  let told = 0
  let synced = 0
  let early = 0
  for (const call of calls) {
    if (log.test(call)) state = 'written'
    else if (sync.test(call)) state = state === 'written' ? 'synced' : state
    const said = tell.exec(call)?.[1]
    if (said === undefined) continue
    if (said !== 'ready') {
      told++
      if (state === 'synced') synced++
      if (state === 'written') early++
    }
    if (state === 'synced') state = 'untouched'
  }
  return { told, synced, early }
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

it('syncs the log before it acknowledges turns that share a transaction (R3)', {
  timeout: 120_000,
}, async context => {
  needStrace(context)
  const { told, synced, early } = syncedBeforeTold(await tracedCalls('parallel'))
  note('acknowledged, eight at a time', told)
  note('syncs for them', synced)
  expect({ told, early }).toEqual({ told: turns, early: 0 })
  expect(synced).toBeLessThan(turns)
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
