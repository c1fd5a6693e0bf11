import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SkeinError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { beginTurn, type RecorderSource, systemRecorderSource } from '../../src/recorder/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { freshDatabase } from '../stores/postgres/database.ts'
import { note } from './note.ts'
import { seededRandom } from './random.ts'
import type { Line, Manner } from './rival.ts'
import { faultsIn, type Rival, startRival } from './rivals.ts'
import { size } from './size.ts'

/** Two agents in one conversation, each in a separate process; and one that is frozen while another takes its
 *  place. */
const questions = size({ gate: 8, full: 200 })
const freezes = size({ gate: 5, full: 200 })
const timeout = size({ gate: 120_000, full: 3_600_000 })

/** This process's clock is half a minute and a second ahead: to it, every silent holder's lease has expired.
 */
const now = () => Date.now() + 31_000
// As a process of another host, which cannot see that the frozen one lives.
const later: RecorderSource = { ...systemRecorderSource, now, isVisible: () => false }

const folder = mkdtempSync(join(tmpdir(), 'rivals-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const engines = [
  { engine: 'SQLite', open: async () => join(folder, 'rivals.db') },
  { engine: 'PostgreSQL', open: freshDatabase },
]

describe.each(engines)('on $engine', ({ open }) => {
  let store: Store
  let rivals: readonly [Rival, Rival]
  beforeAll(async () => {
    const target = await open()
    store = await openStore(target, { source: { now, uuid: () => crypto.randomUUID() } })
    rivals = [await startRival(target, 'Ann'), await startRival(target, 'Ben')]
  }, 60_000)
  afterAll(async () => {
    for (const rival of rivals) await rival.kill()
    await store.close()
  })

  /** Both talk at once under one key; returns the results and the faults. */
  async function together(manner: Manner) {
    const key = `${manner} together`
    const said = (
      await Promise.all(rivals.map(rival => rival.talk({ key, manner, count: questions })))
    ).flat()
    const { conversation } = (await store.findByKey(key))!
    return { said, conversation, faults: await faultsIn(store, conversation.id, said) }
  }

  it.each(['wait', 'refuse', 'fork'] as const)(
    'completes every answer of two agents that %s on one conversation, or refuses the question (R8)',
    { timeout },
    async manner => {
      const { said, conversation, faults } = await together(manner)
      expect(faults).toEqual([])
      const { answered, refused } = tally(said)
      note('asked', said.length)
      note('refused', refused.length)
      expect(said).toHaveLength(2 * questions)
      // Only answered questions are stored.
      expect(conversation.messages).toBe(2 * answered)
      const turns = await collectPages(page => store.listTurns(conversation.id, page))
      expect(turns.filter(({ status }) => status !== 'complete')).toEqual([])
      const branches = await collectPages(page => store.listBranches(conversation.id, page))
      if (manner !== 'fork') expect(branches).toHaveLength(1)
      if (manner === 'refuse')
        expect(refused.filter(code => code !== 'busy' && code !== 'conflict')).toEqual([])
      else expect(answered).toBe(2 * questions)
      note('branches', branches.length)
    },
  )

  it('continues on a sibling branch if an agent is frozen while another takes its place (R8)', {
    timeout,
  }, async () => {
    const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 1_000_000)
    console.log(`freezes with seed ${seed}`)
    const random = seededRandom(seed)
    let beside = 0
    let refused = 0
    let interrupted = 0
    for (let round = 0; round < freezes; round++) {
      const key = `frozen ${round}`
      const [rival] = rivals
      const talking = rival.talk({ key, manner: 'wait', count: 1_000 })
      await rival.speaks()
      await pause(random() * 40) // a random moment, on purpose
      rival.freeze()
      const { branch, conversation } = (await store.findByKey(key))!
      const mine = takePlace(store, branch)
      // A process that is frozen while it holds the lock blocks all others until it is thawed.
      await Promise.race([mine, pause(1_500)])
      rival.thaw()
      const report = await mine
      await rival.speaks()
      rival.stop()
      const said = await talking
      expect(await faultsIn(store, conversation.id, said)).toEqual([])
      if (report === null) refused++
      else expect(report).toMatchObject({ saved: true, status: 'complete' })
      const path = report ? await pathOf(store, (await store.getBranch(report.branch)).head!) : []
      const at = path.findIndex(message => textOf(message) === 'Mine.')
      if (report) expect(path.slice(at, at + 2).map(textOf)).toEqual(['Mine.', 'Yours.'])
      if (said.some(line => 'answered' in line && line.answered.name !== 'main')) beside++
      const turns = await collectPages(page => store.listTurns(conversation.id, page))
      interrupted += turns.filter(({ status }) => status === 'interrupted').length
      expect(turns.filter(({ status }) => status === 'open')).toEqual([])
    }
    note('freezes', freezes)
    note('turns taken over', interrupted)
    note('continued on a sibling branch', beside)
    note('refused', refused)
    expect(interrupted).toBeGreaterThan(0)
  })

  it('control: mixes answers up if agents ignore the holder of the branch', { timeout }, async () => {
    const { faults } = await together('careless')
    note('faults', faults.length)
    expect(faults).not.toEqual([])
  })
})

/** Writes on the branch of the frozen process. Null if it is refused. */
async function takePlace(store: Store, branch: Parameters<typeof beginTurn>[1]) {
  try {
    const words = [{ role: 'user', content: 'Mine.' }] as const
    const turn = await beginTurn(store, branch, { words, onBusy: 'wait' }, later)
    await turn.add([{ role: 'assistant', content: 'Yours.' }])
    return await turn.end('complete')
  } catch (error) {
    if (!(error instanceof SkeinError) || !['conflict', 'busy', 'expired'].includes(error.code)) throw error
    return null
  }
}

function tally(said: readonly Line[]): { answered: number; refused: string[] } {
  const refused = said.flatMap(line => ('refused' in line ? line.refused : []))
  return { answered: said.length - refused.length, refused }
}
