import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, type TestContext } from 'vitest'
import { note } from './note.ts'
import type { Manner } from './writer.ts'

/** What the operating system is asked for, call by call: an acknowledgement is worth as much as the sync before it. */
const turns = 200

function needStrace(context: TestContext): void {
  const tried = spawnSync('strace', ['-e', 'trace=none', process.execPath, '-e', ''], { encoding: 'utf8' })
  if (tried.error) context.skip('strace is not installed')
  if (tried.status !== 0) context.skip(`strace may not trace here: ${tried.stderr.trim().split('\n')[0]}`)
}

/** The calls of a writer that says `turns` turns, in their order. */
async function tracedCalls(manner: Manner): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sync-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const trace = join(folder, 'trace')
  const writer = join(import.meta.dirname, 'writer.ts')
  const child = spawn(
    'strace',
    // With the file's name after each descriptor (-y), in all threads (-f), whole names (-s).
    [
      ...['-f', '-y', '-s', '64', '-o', trace, '-e', 'trace=write,pwrite64,pwritev,fsync,fdatasync'],
      ...[process.execPath, writer, join(folder, 'a.db'), 'writer', manner, String(turns)],
    ],
    { stdio: ['pipe', 'ignore', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin.end('go\n')
  expect(await once(child, 'close')).toEqual([0, null])
  return readFileSync(trace, 'utf8').split('\n')
}

/** How many acknowledgements were given after the log had been written and then synced, since the one before. */
function syncedBeforeTold(calls: readonly string[]): { told: number; synced: number } {
  const log = /^\d+ +(pwrite64|pwritev|write)\(\d+<[^>]*-wal>/
  const sync = /^\d+ +f(data)?sync\(\d+<[^>]*-wal>\).* = 0$/
  const tell = /^\d+ +write\(1<[^>]*>, "(ready|stored \d+)\\n"/
  let state: 'untouched' | 'written' | 'synced' = 'untouched'
  let told = 0
  let synced = 0
  for (const call of calls) {
    if (log.test(call)) state = 'written'
    else if (sync.test(call)) state = state === 'written' ? 'synced' : state
    const said = tell.exec(call)?.[1]
    if (said === undefined) continue
    if (said !== 'ready') {
      told++
      if (state === 'synced') synced++
    }
    state = 'untouched'
  }
  return { told, synced }
}

it('the log is synced before each acknowledgement, with the settings that nobody changed (R3)', {
  timeout: 120_000,
}, async context => {
  needStrace(context)
  const { told, synced } = syncedBeforeTold(await tracedCalls('honest'))
  note('acknowledged', told)
  note('synced before', synced)
  expect({ told, synced }).toEqual({ told: turns, synced: turns })
})

it('is seen not to be synced where durability is normal, or the acknowledgement comes first', {
  timeout: 120_000,
}, async context => {
  needStrace(context)
  const normal = syncedBeforeTold(await tracedCalls('normal'))
  note('synced before, durability normal', normal.synced)
  expect(normal.told).toBe(turns)
  // A checkpoint now and then syncs the log as well.
  expect(normal.synced).toBeLessThan(turns / 10)
  const early = syncedBeforeTold(await tracedCalls('early'))
  note('synced before, acknowledged early', early.synced)
  // Between two of its acknowledgements there is a sync all the same; before the first there is none.
  expect(early.synced).toBeLessThan(turns)
})
