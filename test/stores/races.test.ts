import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConversationId } from '../../src/core/ids.ts'
import type { Message, NonEmpty } from '../../src/core/message.ts'
import type { Appended, BranchInConversation, Store } from '../../src/core/ports.ts'
import { say } from '../../src/testing/contract/build.ts'
import { startWorker, type Worker } from '../support/workers.ts'
import { freshDatabase } from './postgres/database.ts'

/** Eight processes that all do the same at the same moment, twenty times. Two processes in one round do
 *  not notice a missing lock; see the negative control at the end. */
const rounds = 20
const processes = 8

/** What came of one call: its value, or the code of its error (or the message, if it has none). */
type Outcome<T> =
  | { readonly value: T; readonly code?: never }
  | { readonly code: string; readonly value?: never }

interface Team {
  readonly stores: NonEmpty<Store>
  /** All at once; `i` counts the processes. */
  all<T>(work: (store: Store, i: number) => Promise<T>): Promise<Outcome<T>[]>
}

const folder = mkdtempSync(join(tmpdir(), 'races-'))
let workers: readonly Worker[] = []
beforeAll(async () => {
  workers = await Promise.all(Array.from({ length: processes }, startWorker))
}, 60_000)
afterAll(async () => {
  await Promise.all(workers.map(worker => worker.kill()))
  rmSync(folder, { recursive: true, force: true })
})

/** The same processes for all drivers: starting one costs more than a race. */
async function gather(target: string, options: { unlocked?: boolean } = {}): Promise<Team> {
  // One after the other: starting at once is tested with the migrations.
  for (const worker of workers) await worker.open(target, options)
  const stores = workers.map(worker => worker.store) as unknown as NonEmpty<Store>
  return {
    stores,
    all: work =>
      Promise.all(
        stores.map((store, i) =>
          work(store, i).then(
            value => ({ value }),
            (error: Error & { code?: string }) => ({ code: error.code ?? error.message }),
          ),
        ),
      ),
  }
}

/** A race says what it saw that must not be; a good driver gives it nothing to say. */
type Race = (team: Team, round: number) => Promise<unknown>

/** How often each outcome came about, told by `kind`. */
function tally<T>(outcomes: readonly Outcome<T>[], kind: (value: T) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { value, code } of outcomes) {
    const key = code ?? kind(value as T)
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

function distinct<T>(outcomes: readonly Outcome<T>[], part: (value: T) => string): number {
  return new Set(outcomes.flatMap(({ value }) => (value === undefined ? [] : [part(value)]))).size
}

const found = (place: { created: boolean }) => (place.created ? 'created' : 'found')
const outcomeOf = (appended: Appended) => appended.outcome
const others = processes - 1

async function allMessages(store: Store, id: ConversationId): Promise<readonly Message[]> {
  const { items } = await store.listMessages({ conversationId: id, order: 'ascending', limit: 1_000 })
  return items
}

/** Seqs from 0 without a gap or a double, and counters that agree with them. */
async function expectGapFree(
  store: Store,
  { conversation: { id } }: BranchInConversation,
  count: number,
): Promise<void> {
  const messages = await allMessages(store, id)
  expect(messages.map(message => message.seq)).toEqual(Array.from({ length: count }, (_, i) => i))
  const { messages: counted, tokens } = await store.getConversation(id)
  expect(counted).toBe(count)
  expect(tokens).toBe(messages.reduce((sum, message) => sum + message.tokens, 0))
}

const races: Record<string, Race> = {
  'finds or creates one conversation for a key': async ({ stores, all }, round) => {
    const key = `fresh ${round}`
    const outcomes = await all(store => store.findOrCreate(key))
    expect(tally(outcomes, found)).toEqual({ created: 1, found: others })
    expect(distinct(outcomes, place => place.conversation.id)).toBe(1)
    expect(await stores[0].countConversations({ keyPrefix: key })).toBe(1)
  },

  'gives the key of an expired conversation to one new one': async ({ stores, all }, round) => {
    const key = `expired ${round}`
    const old = await stores[0].create({ key, expiresAt: new Date(1_000) })
    const outcomes = await all(store => store.findOrCreate(key))
    expect(tally(outcomes, found)).toEqual({ created: 1, found: others })
    expect(distinct(outcomes, place => place.conversation.id)).toBe(1)
    expect(await stores[0].getBranch(old.branch)).toMatchObject({ key: null, formerKey: key })
  },

  'lets one append win a head': async ({ stores, all }) => {
    const place = await stores[0].create()
    const first = await stores[0].append(place.branch, null, [say('first')])
    const outcomes = await all(store => store.append(place.branch, first.head, [say('the same words')]))
    expect(tally(outcomes, outcomeOf)).toEqual({ appended: 1, conflict: others })
    const head = outcomes.find(({ value }) => value)?.value?.head
    expect(await stores[0].getBranch(place.branch)).toMatchObject({ head })
    await expectGapFree(stores[0], place, 2)
  },

  'keeps every append on a branch of its own where siblings are asked for': async ({ stores, all }) => {
    const place = await stores[0].create()
    const first = await stores[0].append(place.branch, null, [say('first')])
    const messages = [say('the same words'), say('and an answer', 'assistant')] as const
    const outcomes = await all(store =>
      store.append(place.branch, first.head, messages, { onConflict: 'sibling' }),
    )
    expect(tally(outcomes, outcomeOf)).toEqual({ appended: 1, sibling: others })
    expect(distinct(outcomes, appended => appended.branch.name)).toBe(processes)
    expect(distinct(outcomes, appended => appended.ids.join())).toBe(processes)
    await expectGapFree(stores[0], place, 1 + 2 * processes)
    const branches = await stores[0].listBranches(place.conversation.id)
    expect(branches.map(branch => branch.messagesSinceBase).sort()).toEqual([2, 2, 2, 2, 2, 2, 2, 3])
  },

  'stores a turn once, whoever brings it': async ({ stores, all }) => {
    const place = await stores[0].create()
    const turn = { key: 'the turn', step: 0 }
    const outcomes = await all(store => store.append(place.branch, null, [say('a'), say('b')], { turn }))
    expect(tally(outcomes, outcomeOf)).toEqual({ appended: 1, replayed: others })
    expect(distinct(outcomes, appended => appended.ids.join())).toBe(1)
    await expectGapFree(stores[0], place, 2)
  },

  'lets one open a turn on a branch': async ({ stores, all }) => {
    const place = await stores[0].create()
    const outcomes = await all((store, i) => {
      const holder = { host: 'races', boot: 'boot', pid: i, startedAt: 1 }
      const turn = { key: `turn ${i}`, step: 0, status: 'open', holder } as const
      return store.append(place.branch, null, [say(`mine ${i}`)], { turn })
    })
    expect(tally(outcomes, outcomeOf)).toEqual({ appended: 1, busy: others })
    await expectGapFree(stores[0], place, 1)
  },

  'lets one claim a range for its summary': async ({ stores, all }) => {
    const place = await stores[0].create()
    const { ids } = await stores[0].append(place.branch, null, [say('a'), say('b')])
    const outcomes = await all((store, i) => {
      const holder = { host: 'races', boot: 'boot', pid: i, startedAt: 1 }
      return store.claimSummary(place.conversation.id, { first: ids[0], last: ids[1]! }, holder)
    })
    expect(tally(outcomes, ({ claimed }) => (claimed ? 'claimed' : 'made'))).toEqual({
      claimed: 1,
      busy: others,
    })
  },

  'stores all that eight processes save at once, gap-free': async ({ stores, all }) => {
    const place = await stores[0].create()
    const outcomes = await all(store =>
      store.save(place.conversation.id, [
        { message: say('a'), parent: null },
        { message: say('b'), parent: { item: 0 } },
      ]),
    )
    expect(tally(outcomes, () => 'saved')).toEqual({ saved: processes })
    await expectGapFree(stores[0], place, 2 * processes)
  },

  'numbers events without a gap': async ({ stores, all }) => {
    const { conversation } = await stores[0].create()
    const event = { type: 'degraded' } as const
    const outcomes = await all(store => store.addEvents(conversation.id, [event, event]))
    expect(tally(outcomes, () => 'added')).toEqual({ added: processes })
    const events = await stores[0].listEvents(conversation.id)
    expect(events.map(({ n }) => n)).toEqual(Array.from({ length: 2 * processes }, (_, i) => i))
  },
}

/** `bites` are the races of which one at least must fail without the lock. In thirty attempts of twenty
 *  rounds, those of SQLite failed in the first round each time, those of PostgreSQL in the seventh at the
 *  latest. Its other races never did: there a unique index is a second line, and the loser runs again. */
const drivers = [
  {
    name: 'SQLite',
    target: join(folder, 'races.db'),
    control: join(folder, 'control.db'),
    bites: ['lets one append win a head', 'lets one claim a range for its summary'],
  },
  {
    name: 'PostgreSQL',
    target: await freshDatabase(),
    control: await freshDatabase(),
    bites: [
      'gives the key of an expired conversation to one new one',
      'lets one claim a range for its summary',
    ],
  },
]

describe.each(drivers)('eight processes on $name', ({ target, control, bites }) => {
  let team: Team
  beforeAll(async () => {
    team = await gather(target)
  })

  it.each(Object.entries(races))('%s', async (_, race) => {
    for (let round = 0; round < rounds; round++) await race(team, round)
  })

  it('get all their words in if each goes on from the new head after a conflict', async () => {
    const { stores, all } = team
    const place = await stores[0].create()
    const outcomes = await all(async (store, i) => {
      for (let n = 0; n < 5; ) {
        const { head } = await store.getBranch(place.branch)
        try {
          await store.append(place.branch, head, [say(`${i} says ${n}`)])
          n++
        } catch (error) {
          if ((error as { code?: string }).code !== 'conflict') throw error
        }
      }
    })
    expect(tally(outcomes, () => 'said')).toEqual({ said: processes })
    await expectGapFree(stores[0], place, 5 * processes)
    const { head } = await stores[0].getBranch(place.branch)
    expect(await stores[0].path(head!)).toHaveLength(5 * processes)
  })

  /** Settled 3: without the lock, these very rounds must fail, three times out of three. */
  it('are seen to fail where writers look before they lock', { timeout: 60_000 }, async () => {
    const unlocked = await gather(control, { unlocked: true })
    for (let attempt = 0; attempt < 3; attempt++) {
      const seen = []
      for (const name of bites) if (await failsIn(unlocked, races[name]!, attempt)) seen.push(name)
      expect(seen).not.toEqual([])
    }
  })
})

async function failsIn(team: Team, race: Race, attempt: number): Promise<boolean> {
  for (let round = 0; round < rounds; round++) {
    try {
      await race(team, attempt * rounds + round)
    } catch {
      return true
    }
  }
  return false
}
