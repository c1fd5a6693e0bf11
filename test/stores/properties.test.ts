import { strict as assert } from 'node:assert'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Finding } from '../../src/core/finding.ts'
import type { ConversationId } from '../../src/core/ids.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf as storedPath } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import type { Stretch } from '../../src/core/runs.ts'
import type { Source } from '../../src/core/source.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { note } from '../battery/note.ts'
import { size } from '../battery/size.ts'
import { holderOf, Model, type ModelConversation, type ModelMessage, pathOf } from '../support/model.ts'
import { compareSearch, keys, operation, run, words } from '../support/model-operations.ts'
import {
  compareEvents,
  isTurnOperation,
  runTurnOperation,
  turnOperation,
} from '../support/model-turn-operations.ts'
import { freshDatabase, openPool } from './postgres/database.ts'

/** Random sequences of operations on a driver and on a model, which must always agree in results and state.
 *  A failure prints its seed; PROPERTY_SEED runs it again. The gate always runs the same sequences, the
 *  battery runs others. */
const seed = Number(process.env.PROPERTY_SEED ?? size({ gate: 20_260_101, full: Date.now() % 1_000_000_000 }))
const numRuns = Number(process.env.PROPERTY_RUNS ?? size({ gate: 100, full: 1_000 }))
/** Fifty operations on average. */
const longest = 101
const timeout = size({ gate: 120_000, full: 3_600_000 })

const pool = openPool(await freshDatabase(), { max: 4 })
let tenants = 0

const drivers: { name: string; open(source: Source): Promise<Store> }[] = [
  { name: 'SQLite', open: source => openSqliteStore(':memory:', { source }) },
  {
    name: 'PostgreSQL',
    open: source => postgresStore(pool, { source, tenant: `tenant ${++tenants}` }),
  },
]

interface Tally {
  asked: number
  readonly done: Map<string, number>
}

/** Fails with the shortest sequence for which the store and the model differ. */
async function checkSequences(
  open: (source: Source) => Promise<Store>,
  parameters: fc.Parameters<unknown>,
): Promise<Tally> {
  const tally: Tally = { asked: 0, done: new Map() }
  const any = fc.oneof({ weight: 4, arbitrary: operation }, { weight: 1, arbitrary: turnOperation })
  const sequences = fc.array(any, { minLength: 1, maxLength: longest, size: 'max' })
  await fc.assert(
    fc.asyncProperty(sequences, async operations => {
      const model = new Model()
      let made = 0
      const store = await open({
        now: () => 1_767_225_600_000 + model.now,
        uuid: () => `00000000-0000-4000-8000-${(++made).toString(16).padStart(12, '0')}`,
      })
      try {
        for (const one of operations) {
          const went = isTurnOperation(one)
            ? await runTurnOperation(one, model, store)
            : await run(one, model, store)
          tally.asked++
          if (went) tally.done.set(one.do, (tally.done.get(one.do) ?? 0) + 1)
        }
        await compare(model, store)
        await checkSound(store)
      } finally {
        await store.close()
      }
    }),
    // By default it prefers short sequences, in which little happens.
    { seed, unbiased: true, ...parameters } as object,
  )
  return tally
}

describe.each(drivers)('on $name', ({ open }) => {
  it('any sequence of operations has the same effect as on the model (R12)', { timeout }, async () => {
    console.log(`sequences with seed ${seed}`)
    const { asked, done } = await checkSequences(open, { numRuns })
    // If both refuse everything, nothing is proved.
    expect([...done].filter(([, times]) => times >= 3)).toHaveLength(25)
    note('sequences', numRuns)
    note('operations', asked)
    note(
      'carried out',
      [...done.values()].reduce((sum, times) => sum + times, 0),
    )
    note('seed', seed)
  })
})

/** Stores with one fault each, which the sequences must detect. */
const faults: Record<string, (store: Store) => Partial<Store>> = {
  'ignores the expected head': store => ({
    append: async (ref, _, messages, options) =>
      store.append(ref, (await store.getBranch(ref)).head, messages, options),
  }),
  'drops labels': () => ({ setLabel: async () => {} }),
  'returns the oldest events instead of the newest': store => ({
    listEvents: (id, { order: _, ...listing } = {}) => store.listEvents(id, listing),
  }),
  'reopens a turn for the wrong holder': store => ({
    reopenTurn: ref => store.reopenTurn(ref, holderOf(1)),
  }),
  'drops drafts': () => ({ putDraft: async () => {} }),
}

it.each(Object.entries(faults))('the sequences detect a store that %s', { timeout }, async (_, fault) => {
  const open = async (source: Source) => {
    const store = await openSqliteStore(':memory:', { source })
    return { ...store, ...fault(store) }
  }
  await expect(checkSequences(open, { seed: 20_260_101, numRuns: 200, endOnFailure: true })).rejects.toThrow(
    'Property failed',
  )
})

/** After any sequence, `verify` finds nothing. */
async function checkSound(store: Store): Promise<void> {
  const found: Finding[] = []
  await store.verify({ onFinding: finding => found.push(finding) })
  assert.deepEqual(
    found.filter(({ severity }) => severity !== 'note'),
    [],
  )
}

/** Everything visible of a store must match the model. */
async function compare(model: Model, store: Store): Promise<void> {
  for (const conversation of model.conversations) {
    if (conversation.purged) {
      await assert.rejects(store.getConversation(conversation.id), { code: 'not_found' })
      await assert.rejects(
        collectPages(page => store.listBranches(conversation.id, page)),
        { code: 'not_found' },
      )
    } else await compareConversation(model, conversation, store)
  }
  await compareLists(model, store)
  for (const word of words) await compareSearch(word, model, store)
}

async function compareConversation(
  model: Model,
  conversation: ModelConversation,
  store: Store,
): Promise<void> {
  const { id } = conversation
  const living = conversation.messages.filter(message => message.alive)
  const stored = await store.getConversation(id)
  const { items } = await store.listMessages({ conversationId: id, order: 'ascending', limit: 1_000 })
  assert.deepEqual(
    items.map(one => [one.seq, one.id, one.parentId, one.erased === null && textOf(one), one.label]),
    living.map(one => [one.seq, one.id, one.parent?.id ?? null, !one.erased && one.text, one.label]),
  )
  assert.deepEqual(
    [
      stored.messages,
      stored.tokens,
      stored.activeBranch,
      stored.trashedAt !== null,
      stored.updatedAt.getTime(),
    ],
    [
      living.length,
      items.reduce((sum, one) => sum + one.tokens, 0),
      conversation.active,
      conversation.trashed,
      1_767_225_600_000 + conversation.updatedAt,
    ],
  )
  const turns = (await collectPages(page => store.listTurns(id, page))).map(one => [
    one.key,
    one.branch,
    one.first,
    one.last,
    one.status,
  ])
  const expected = conversation.turns.map(one => [one.key, one.branch, one.first, one.last, one.status])
  assert.deepEqual(turns, expected)
  for (const { key, drafts } of conversation.turns) {
    assert.deepEqual(
      (await collectPages(page => store.readDraft(id, key, page))).map(({ text }) => text),
      drafts,
    )
  }
  await compareEvents(conversation, store, { skip: undefined, types: undefined, newest: true, limit: 3 })
  await compareEvents(conversation, store, {
    skip: undefined,
    types: undefined,
    newest: false,
    limit: undefined,
  })
  await compareBranches(model, conversation, store)
  assert.deepEqual((await collectPages(page => store.listStretches(id, page))).map(shapeOf), runsOf(living))
}

async function compareBranches(model: Model, conversation: ModelConversation, store: Store): Promise<void> {
  const branches = model.branchesOf(conversation)
  const trunk = new Set(pathOf(branches[0]!.head))
  assert.deepEqual(
    (await collectPages(page => store.listBranches(conversation.id, page))).map(one => [
      ...[one.name, one.head, one.key, one.formerKey, one.active, one.base, one.messagesSinceBase],
    ]),
    branches.map((one, i) => {
      const path = pathOf(one.head)
      const base = i === 0 ? undefined : path.findLast(message => trunk.has(message))
      const since = path.length - (base ? path.indexOf(base) + 1 : 0)
      const active = one.name === conversation.active
      return [one.name, one.head?.id ?? null, one.key, one.formerKey, active, base?.id ?? null, since]
    }),
  )
  for (const { head } of branches) {
    if (!head) continue
    const path = pathOf(head).map(message => message.id)
    const read = await storedPath(store, head.id)
    assert.deepEqual(
      read.map(message => message.id),
      path,
    )
    assert.equal(
      read.at(-1)!.pathTokens,
      read.reduce((sum, message) => sum + message.tokens, 0),
    )
    const tail = await store.tail(head.id, { messages: 3 })
    assert.deepEqual(
      tail.messages.map(message => message.id),
      path.slice(tail.older),
    )
  }
}

const shapeOf = (one: Stretch) => [one.firstSeq, one.first, one.last, one.parent, one.messages]

/** The ranges of a tree in which each message has one child, stored right after it. */
function runsOf(living: readonly ModelMessage[]): unknown[] {
  const children = Map.groupBy(living, message => message.parent)
  const follows = ({ parent, seq }: ModelMessage) =>
    parent !== null && parent.seq === seq - 1 && children.get(parent)!.length === 1
  const runs: ModelMessage[][] = []
  for (const message of living) {
    if (follows(message)) runs.at(-1)!.push(message)
    else runs.push([message])
  }
  return runs.map(run => {
    const [first] = run
    return [first!.seq, first!.id, run.at(-1)!.id, first!.parent?.id ?? null, run.length]
  })
}

async function compareLists(model: Model, store: Store): Promise<void> {
  const newestFirst = (a: ModelConversation, b: ModelConversation) =>
    b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1)
  for (const trashed of [false, true]) {
    const expected = model.conversations
      .filter(one => !one.purged && one.trashed === trashed)
      .sort(newestFirst)
      .map(one => one.id)
    const filter = trashed ? ({ trashed } as const) : {}
    assert.deepEqual(await listAll(store, filter), expected)
    assert.equal(await store.countConversations(filter), expected.length)
  }
  for (const key of keys) {
    const held = model.holderOfKey(key)
    const found = await store.findByKey(key)
    const expected = held && [held.conversation.id, held.branch.name]
    assert.deepEqual(found && [found.conversation.id, found.branch.name], expected)
  }
}

/** In pages of two, so that the cursor is used. */
async function listAll(store: Store, filter: { trashed?: true }): Promise<ConversationId[]> {
  const ids: ConversationId[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page = await store.listConversations({ ...filter, limit: 2, ...(after && { after }) })
    ids.push(...page.items.map(one => one.id))
    after = page.next
  }
  return ids
}
