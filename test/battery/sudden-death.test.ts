import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { note } from './note.ts'
import { seededRandom } from './random.ts'
import { size } from './size.ts'
import { expectSound, storedTurns } from './stored-turns.ts'
import { startTeam, type Team } from './team.ts'
import type { Manner } from './writer.ts'

/** Three writers on one file are killed at a random moment, repeatedly, and the acknowledged turns are looked
 *  up. */
const runs = size({ gate: 25, full: 1_000 })
/** In the gate the kills come early: every state that a kill can meet occurs in the first moments too. */
const longestMs = size({ gate: 150, full: 700 })
/** Kills per file. The file is large enough by then, and a new one is used. */
const runsPerFile = 50
const timeout = size({ gate: 120_000, full: 3_600_000 })

/** The faults after a kill. */
interface Damage {
  /** Acknowledged turns that are missing. */
  lost: number
  /** Turns that are stored in part. */
  half: number
}

interface Outcome extends Damage {
  stored: number
  slowestOpenMs: number
}

/** The writers of each run have the next of these modes. */
async function crash(manners: readonly Manner[], times: number, seed: number): Promise<Outcome> {
  const random = seededRandom(seed)
  const folder = mkdtempSync(join(tmpdir(), 'sudden-death-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const total: Outcome = { lost: 0, half: 0, stored: 0, slowestOpenMs: 0 }
  const fileOf = (run: number) => join(folder, `${Math.floor(run / runsPerFile)}.db`)
  const start = (run: number) => startTeam(fileOf(run), `run ${run}`, 3, manners[run % manners.length]!)
  let next = start(0)
  for (let run = 0; run < times; run++) {
    const team = await next
    // Starting takes longer than writing.
    if (run + 1 < times && fileOf(run + 1) === fileOf(run)) next = start(run + 1)
    const told = await team.runAndKill(5 + random() * (longestMs - 5))
    await inspect(fileOf(run), team, told, total)
    if (fileOf(run + 1) === fileOf(run)) continue
    expectSound(fileOf(run))
    rmSync(fileOf(run), { force: true })
    if (run + 1 < times) next = start(run + 1)
  }
  return total
}

/** Opens the file as the next process would, and counts the missing turns of the writers. */
async function inspect(file: string, { keys }: Team, told: ReadonlyMap<string, number>, total: Outcome) {
  const begun = performance.now()
  const store = await openSqliteStore(file)
  await store.listConversations({ limit: 10 })
  total.slowestOpenMs = Math.max(total.slowestOpenMs, performance.now() - begun)
  for (const writer of keys) {
    const { turns, half } = await storedTurns(store, writer)
    total.half += half
    total.lost += Math.max(0, told.get(writer)! - turns)
    total.stored += turns
  }
  await store.close()
}

it('loses no acknowledged turn and leaves no partial turn when three writers are killed (R1)', {
  timeout,
}, async () => {
  const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 1_000_000)
  console.log(`kills with seed ${seed}`)
  const { lost, half, stored, slowestOpenMs } = await crash(['honest', 'parallel'], runs, seed)
  note('kills', runs)
  note('turns stored', stored)
  note('lost', lost)
  note('partial turns', half)
  note('slowest reopen (ms)', slowestOpenMs)
  expect({ lost, half }).toEqual({ lost: 0, half: 0 })
  // They were killed while they wrote, and not before.
  expect(stored).toBeGreaterThanOrEqual(runs)
  // The gate shares its cores with other tests.
  expect(slowestOpenMs).toBeLessThan(size({ gate: 10_000, full: 1_000 }))
})

it('control: loses turns that are acknowledged before they are stored', { timeout }, async () => {
  const { lost } = await crash(['early'], 3, 1)
  note('lost', lost)
  expect(lost).toBeGreaterThan(0)
})

it('control: leaves partial turns if messages are stored one by one', { timeout }, async () => {
  const { half } = await crash(['piecemeal'], 3, 1)
  note('partial turns', half)
  expect(half).toBeGreaterThan(0)
})
