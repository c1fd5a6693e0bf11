import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { run } from '../../scripts/check/command.ts'
import { freshDatabase } from '../stores/postgres/database.ts'
import { note } from './note.ts'
import { installPacked } from './packed/install.ts'
import { killRepeatedly, race, raceFaults, type Setup } from './packed/kills.ts'
import { seededRandom } from './random.ts'
import { isFull, size } from './size.ts'

/** The kills, flips and races on the packed file, by programs that use only what the pages describe. */
const killsEach = size({ gate: 6, full: 84 })
const controlKills = size({ gate: 12, full: 30 })
const flips = size({ gate: 12, full: 240 })
const timeout = size({ gate: 120_000, full: 3_600_000 })

let project: string
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'packed-stores-'))
  project = await installPacked()
}, 300_000)
afterAll(() => {
  for (const path of [folder, project]) rmSync(path, { recursive: true, force: true })
})

const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 1_000_000)
const engines = [
  { engine: 'SQLite', open: async () => join(folder, `${crypto.randomUUID()}.db`) },
  { engine: 'PostgreSQL', open: freshDatabase },
]
type Control = readonly [Setup['program'], fault: string, 'lost' | 'doubled' | 'partial' | 'paidTwice']
const few: readonly Control[] = [
  ['turns', 'early', 'lost'],
  ['agent', 'keyless', 'paidTwice'],
]
const all: readonly Control[] = [
  ...few,
  ['turns', 'keyless', 'doubled'],
  ['turns', 'piecemeal', 'partial'],
  ['ai-sdk', 'forgetful', 'paidTwice'],
]
const controls = size({ gate: few, full: all })
const nothing = { lost: 0, doubled: 0, partial: 0, paidTwice: 0, findings: [] }

describe.each(engines)('the packed file, on $engine', ({ engine, open }) => {
  const setUp = async (program: Setup['program'], fault?: string): Promise<Setup> => ({
    project,
    program,
    target: await open(),
    ledger: join(folder, crypto.randomUUID()),
    ...(fault !== undefined && { fault }),
  })

  it.each(['turns', 'agent', 'ai-sdk'] as const)(
    'loses and doubles nothing, and runs no tool twice, if %s is killed',
    {
      timeout,
    },
    async program => {
      console.log(`kills with seed ${seed}`)
      const { kills, acknowledged, faults } = await killRepeatedly(
        await setUp(program),
        killsEach,
        seededRandom(seed),
      )
      note('kills', kills)
      note('answers acknowledged', acknowledged)
      const { findings, ...counts } = faults
      for (const [name, count] of Object.entries({ ...counts, findings: findings.length })) note(name, count)
      expect(faults, `seed ${seed}`).toEqual(nothing)
      // They were killed at work, and not only before it.
      expect(acknowledged).toBeGreaterThan(size({ gate: 0, full: kills / 3 }))
    },
  )

  it.runIf(isFull || engine === 'SQLite').each(controls)(
    'control: finds the fault of %s that is %s',
    { timeout },
    async (program, fault, found) => {
      const { faults } = await killRepeatedly(await setUp(program, fault), controlKills, seededRandom(seed))
      note(found, faults[found])
      expect(faults[found]).toBeGreaterThan(0)
    },
  )

  it('stores each question of processes that race for one conversation once, before its answer', {
    timeout,
  }, async () => {
    const [processes, count] = size({ gate: [3, 4], full: [6, 50] })
    const target = await open()
    const mine = Array.from({ length: processes * count }, (_, i) => [i % count, Math.floor(i / count)])
    for (const how of ['append', 'ask', 'same']) {
      await race(project, target, how, processes, count)
      const questions =
        how === 'same'
          ? Array.from({ length: count }, (_, n) => `question ${n}`)
          : mine.map(([n, i]) => `question ${n} of process ${i}`)
      note(`questions (${how})`, questions.length)
      expect(await raceFaults(project, target, how, questions), how).toEqual([])
    }
    // The control.
    await race(project, target, 'careless', processes, count)
    const questions = mine.map(([n, i]) => `question ${n} of process ${i}`)
    const faults = await raceFaults(project, target, 'careless', questions)
    note('faults of careless processes', faults.length)
    expect(faults).not.toEqual([])
  })
})

it('reports every flipped bit that changes a message, and so do the command and the reader of the format', {
  timeout,
}, async () => {
  const compared = size({ gate: 2, full: flips })
  const printed = await run(
    process.execPath,
    ['flips.ts', folder, String(flips), String(seed), String(compared)],
    { cwd: project },
  )
  const { missed, changed, reported, bySqlite, ...rest } = JSON.parse(printed) as Record<string, number> & {
    missed: string[]
  }
  note('flips', rest.flips!)
  note('changed a message', changed!)
  note('reported by verify', reported!)
  note('reported by integrity_check', bySqlite!)
  note('compared with both readers', rest.compared!)
  expect(missed, `seed ${seed}`).toEqual([])
  expect(reported).toBe(flips)
  // The control: SQLite's own check is not enough.
  expect(bySqlite).toBeLessThan(flips / 2)
})
