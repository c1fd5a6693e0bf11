import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished, type TestContext } from 'vitest'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { makeDiskRecorder, makeSlowSyncs } from '../support/slow-syncs.ts'
import { createDisk, type Luck, readCalls } from './disk-record.ts'
import { note } from './note.ts'
import { seededRandom } from './random.ts'
import { size } from './size.ts'
import { expectSound, storedTurns } from './stored-turns.ts'
import { keysOf, type Manner } from './writer.ts'

/** Power failures: three processes write to one file, and what they ask of the disk is recorded. Afterwards
 *  the files are made that the disk may have had at many moments, and opened as the next process would. */
const writers = 3
const turns = size({ gate: 100, full: 250 })
const failures = size({ gate: 40, full: 1_500 })
const timeout = size({ gate: 120_000, full: 3_600_000 })
const lucks: readonly Luck[] = ['none', 'some calls', 'some sectors', 'all']

interface Recorded {
  readonly folder: string
  readonly record: Buffer
  readonly keys: readonly string[]
}

/** Records writers until each has written its turns and closed its store. */
async function recordWriters(
  context: TestContext,
  manner: Manner,
  disk: { readonly slowMs?: number; readonly failEvery?: number } = {},
): Promise<Recorded> {
  const place = mkdtempSync(join(tmpdir(), 'power-failure-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const recorder = makeDiskRecorder(place)
  if (recorder === null) context.skip('needs Linux and a C compiler')
  const slow = disk.slowMs === undefined ? null : makeSlowSyncs(place)
  const folder = mkdtempSync(join(place, 'store-'))
  const env = {
    ...process.env,
    LD_PRELOAD: slow ? `${recorder}:${slow.LD_PRELOAD}` : recorder!,
    RECORD_DISK_FOLDER: folder,
    RECORD_DISK_LOG: join(place, 'record'),
    ...(disk.slowMs !== undefined && { SLOW_SYNC_MS: String(disk.slowMs) }),
    ...(disk.failEvery !== undefined && { RECORD_DISK_FAIL: String(disk.failEvery) }),
  }
  const names = Array.from({ length: writers }, (_, i) => `writer-${i}`)
  const each = Math.ceil(turns / keysOf('', manner).length)
  const started = names.map(name => {
    const script = join(import.meta.dirname, 'writer.ts')
    const args = [script, join(folder, 'a.db'), name, manner, String(each)]
    const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  })
  const ended = started.map(child => once(child, 'close'))
  await Promise.all(started.map(child => once(createInterface({ input: child.stdout }), 'line')))
  for (const child of started) child.stdin.end('go\n')
  for (const end of ended) expect(await end).toEqual([0, null])
  return {
    folder,
    record: readFileSync(env.RECORD_DISK_LOG),
    keys: names.flatMap(name => keysOf(name, manner)),
  }
}

interface Outcome {
  readonly failures: number
  /** Turns in all opened files. */
  stored: number
  /** Acknowledged turns that are missing. */
  lost: number
  /** Turns that are stored in part. */
  half: number
}

/** Lets the power fail at random moments: a third of them directly after an acknowledgement, a third soon
 *  after a sync that failed, if there is one. */
async function failPower({ folder, record, keys }: Recorded, times: number, seed: number): Promise<Outcome> {
  const random = seededRandom(seed)
  const told = new Map(keys.map(key => [key, 0]))
  const calls = [...readCalls(record)]
  const acknowledgements = calls.flatMap((call, i) => (acknowledged(call) ? [i] : []))
  const failed = calls.flatMap(({ kind }, i) => (kind === 'failed' ? [i] : []))
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!
  const pick = (i: number): number => {
    if (i % 3 === 0) return one(acknowledgements)
    if (i % 3 === 1 && failed.length > 0)
      return Math.min(one(failed) + Math.floor(random() * 300), calls.length - 1)
    return Math.floor(random() * calls.length)
  }
  const moments = Array.from({ length: times }, (_, i) => ({ at: pick(i), luck: one(lucks) }))
  const byMoment = Map.groupBy(moments, ({ at }) => at)
  const disk = createDisk(folder)
  const outcome: Outcome = { failures: times, stored: 0, lost: 0, half: 0 }
  for (const [i, call] of calls.entries()) {
    disk.add(call)
    const acknowledgement = acknowledged(call)
    if (acknowledgement) told.set(acknowledgement.key, acknowledgement.turn + 1)
    for (const { luck } of byMoment.get(i) ?? []) {
      const left = mkdtempSync(join(folder, 'left-'))
      disk.writeFiles(left, luck, random)
      await inspect(join(left, 'a.db'), told, outcome)
      rmSync(left, { recursive: true })
    }
  }
  return outcome
}

function acknowledged(call: { readonly kind: string; readonly text?: string }) {
  const [, turn, key] = /^stored (\d+) (.*)\n$/.exec(call.text ?? '') ?? []
  return key === undefined ? null : { turn: Number(turn), key }
}

async function inspect(file: string, told: ReadonlyMap<string, number>, outcome: Outcome): Promise<void> {
  const store = await openSqliteStore(file)
  for (const [key, count] of told) {
    const { turns, half } = await storedTurns(store, key)
    outcome.stored += turns
    outcome.half += half
    outcome.lost += Math.max(0, count - turns)
  }
  await store.close()
  expectSound(file)
}

const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 1_000_000)

for (const [where, manner, disk] of [
  ['', 'honest', {}],
  [' if turns share transactions', 'parallel', {}],
  [' on a slow disk', 'honest', { slowMs: 3 }],
  [' if turns share transactions on a slow disk', 'parallel', { slowMs: 3 }],
  [' if syncs fail', 'retrying', { failEvery: 25 }],
  [' if syncs of a slow disk fail', 'retrying', { slowMs: 3, failEvery: 25 }],
] as const) {
  it(`keeps each acknowledged turn, and all of it, when the power fails${where} (R3)`, {
    timeout,
  }, async context => {
    console.log(`power failures with seed ${seed}`)
    const { stored, lost, half } = await failPower(await recordWriters(context, manner, disk), failures, seed)
    note(`power failures${where}`, failures)
    note(`turns found${where}`, stored)
    note(`lost${where}`, lost)
    expect({ lost, half }, `seed ${seed}`).toEqual({ lost: 0, half: 0 })
    // It fails while they write, and not before.
    expect(stored).toBeGreaterThan(failures)
  })
}

for (const [manner, how] of [
  ['normal', 'before a sync, with durability normal'],
  ['early', 'before they are stored'],
] as const) {
  it(`control: loses turns that are acknowledged ${how}`, { timeout }, async context => {
    const { lost, half } = await failPower(await recordWriters(context, manner), 20, 1)
    note(`lost (${manner})`, lost)
    expect(lost).toBeGreaterThan(0)
    expect(half).toBe(0)
  })
}
