import { strict as assert } from 'node:assert'
import { randomUUID } from 'node:crypto'
import BetterSqlite3 from 'better-sqlite3'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BranchInfo } from '../../src/core/branch.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Page, PageOptions } from '../../src/core/listing.ts'
import type { Message } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import type { SaveItem, Store } from '../../src/core/ports.ts'
import type { RunStart, Stretch } from '../../src/core/runs.ts'
import type { Program, StatementResult } from '../../src/stores/engine/engine.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { listBranches } from '../../src/stores/programs/branches.ts'
import { sqliteEngine } from '../../src/stores/sqlite/engine.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { say } from '../../src/testing/contract/build.ts'
import { splitAtForks } from '../support/split-at-forks.ts'
import { freshDatabase, openPool } from './postgres/database.ts'

/** Pages of stretches and branches, of trees of many shapes, compared with the whole tree. */

const database = freshDatabase()
const drivers = [
  { name: 'SQLite', numRuns: 200, open: async () => openSqliteStore(':memory:') },
  {
    name: 'PostgreSQL',
    numRuns: 60,
    open: async () => postgresStore(openPool(await database, { max: 2 })),
  },
] as const

/** Some messages after each other, the first one on any earlier message, or a root. Half of them continue at
 *  the end, as most do, and some are long, so that their ends are searched for. */
const growth = fc.record({
  on: fc.oneof(fc.constant(0), fc.nat()),
  length: fc.oneof({ weight: 4, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(90) }),
})
const rounds = fc.array(
  fc.record({
    grown: fc.array(growth, { maxLength: 8 }),
    /** The message to which `main` moves, which is the trunk. */
    main: fc.nat(),
    deleted: fc.array(fc.nat(), { maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 4 },
)
type Rounds = typeof rounds extends fc.Arbitrary<infer T> ? T : never

async function messagesOf(store: Store, conversationId: ConversationId): Promise<readonly Message[]> {
  return collectPages(page => store.listMessages({ ...page, conversationId, order: 'ascending' }))
}

/** Grows a tree, moves its trunk and deletes some of its branches, several times. Each end of a growth gets a
 *  branch. */
async function makeTree(store: Store, given: Rounds): Promise<ConversationId> {
  const { conversation, branch } = await store.create()
  const { id } = conversation
  for (const [n, { grown, main, deleted }] of given.entries()) {
    const known = (await messagesOf(store, id)).map(message => message.id)
    const items: SaveItem[] = []
    const ends: number[] = []
    for (const { on, length } of grown) {
      const count = known.length + items.length
      // Counted from the end: 0 is the last message, `count` the place of a root.
      const at = count - 1 - (on % (count + 1))
      const parent = at < 0 ? null : at < known.length ? known[at]! : { item: at - known.length }
      items.push({ message: say(`${n}/${items.length}`), parent })
      for (let i = 0; i < length; i++)
        items.push({ message: say(`${n}/${items.length}`), parent: { item: items.length - 1 } })
      ends.push(items.length - 1)
    }
    if (items.length > 0) {
      const ids = await store.save(id, items)
      for (const end of ends) await store.createBranch(id, ids[end]!, { name: `${n}/${end}` })
    }
    const all = (await messagesOf(store, id)).map(message => message.id)
    if (all.length > 0)
      await store.moveBranch(branch, (await store.getBranch(branch)).head, all[main % all.length]!)
    const roots = new Set(all.length === 0 ? [] : deleted.map(place => all[place % all.length]!))
    if (roots.size > 0) await store.deleteMessages([...roots], { recursive: true })
  }
  return id
}

/** The stretches by the algorithm that needs the starts of all runs. */
function expectedStretches(messages: readonly Message[]): readonly (number | null)[][] {
  const seqOf = new Map(messages.map(({ id, seq }) => [id, seq]))
  const parentSeq = ({ parentId }: Message) => (parentId === null ? -1 : seqOf.get(parentId)!)
  const starts = messages.flatMap((message): RunStart[] =>
    message.seq > 0 && parentSeq(message) === message.seq - 1
      ? []
      : [{ seq: message.seq, parentSeq: parentSeq(message) }],
  )
  const seqs = messages.map(({ seq }) => seq)
  return splitAtForks(starts, (seqs.at(-1) ?? -1) + 1).flatMap(({ lo, hi, parentSeq }) => {
    // Deleted messages are at the end of a range, or fill it.
    const last = seqs.findLast(seq => seq >= lo && seq <= hi)
    return last === undefined ? [] : [[lo, last, parentSeq < 0 ? null : parentSeq]]
  })
}

const shapeOf = ({ firstSeq, lastSeq, parentSeq }: Stretch) => [firstSeq, lastSeq, parentSeq]

/** The base of each branch, by the paths of all messages. */
function expectedBases(messages: readonly Message[], branches: readonly BranchInfo[]) {
  const byId = new Map(messages.map(message => [message.id, message]))
  const pathTo = (head: MessageId | null) => {
    const path: MessageId[] = []
    for (let at = head; at !== null; at = byId.get(at)!.parentId) path.push(at)
    return path
  }
  const trunk = new Set(pathTo(branches[0]!.head))
  return branches.map(({ head }, i) => {
    const path = pathTo(head)
    const shared = i === 0 ? -1 : path.findIndex(id => trunk.has(id))
    return [path[shared] ?? null, shared < 0 ? path.length : shared]
  })
}

async function readInPagesOf<T>(
  limit: number,
  list: (page: PageOptions) => Promise<Page<T>>,
): Promise<readonly T[]> {
  const read: T[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page = await list({ limit, ...(after && { after }) })
    read.push(...page.items)
    after = page.next
  }
  return read
}

describe.each(drivers)('on $name', ({ open, numRuns }) => {
  let store: Store
  beforeAll(async () => {
    store = await open()
  })
  afterAll(() => store.close())

  it('pages of stretches and branches match the whole tree, after deletions too', { timeout: 120_000 }, () =>
    fc.assert(
      fc.asyncProperty(rounds, async given => {
        const id = await makeTree(store, given)
        const messages = await messagesOf(store, id)
        const stretches = expectedStretches(messages)
        const branches = (await store.listBranches(id, { limit: 10_000 })).items
        const bases = expectedBases(messages, branches)
        for (const limit of [1, 2, 3, 10_000]) {
          const found = await readInPagesOf(limit, page => store.listStretches(id, page))
          assert.deepEqual(found.map(shapeOf), stretches, `stretches in pages of ${limit}`)
          const listed = await readInPagesOf(limit, page => store.listBranches(id, page))
          assert.deepEqual(
            listed.map(one => [one.base, one.messagesSinceBase]),
            bases,
            `branches in pages of ${limit}`,
          )
        }
      }),
      { numRuns, seed: 20_261_119 },
    ),
  )

  it('a page that is read in pieces matches small pages', { timeout: 60_000 }, async () => {
    const { conversation, branch } = await store.create()
    const { id } = conversation
    const { ids } = await store.append(branch, null, [say('a'), say('b'), say('c')])
    // A chain in which each branch leaves the one before, and beside it short runs on the trunk.
    const items: SaveItem[] = []
    for (let i = 0; i < 3_000; i++) {
      const parent = i === 0 ? ids[1]! : { item: (i - 1) * 2 }
      items.push({ message: say(`chain ${i}`), parent }, { message: say(`beside ${i}`), parent: ids[2]! })
    }
    const saved = await store.save(id, items)
    for (const n of [0, 1, 2, 3, 4_000, 5_997, 5_998, 5_999])
      await store.createBranch(id, saved[n]!, { name: `${n}` })
    const stretches = await readInPagesOf(100, page => store.listStretches(id, page))
    expect(stretches.map(shapeOf)).toEqual(expectedStretches(await messagesOf(store, id)))
    expect((await store.listStretches(id, { limit: 10_000 })).items).toEqual(stretches)
    const branches = (await store.listBranches(id, { limit: 10_000 })).items
    expect(branches.map(one => [one.base, one.messagesSinceBase])).toEqual([
      [null, 3],
      [ids[1], 1],
      [ids[2], 1],
      [ids[1], 2],
      [ids[2], 1],
      [ids[1], 2_001],
      [ids[2], 1],
      [ids[1], 3_000],
      [ids[2], 1],
    ])
    expect(await readInPagesOf(2, page => store.listBranches(id, page))).toEqual(branches)
  })

  it('a page of stretches begins after the one before, whatever changes in between', async () => {
    const { conversation, branch } = await store.create()
    const { id } = conversation
    const texts = ['a', 'b', 'c', 'd', 'e', 'f'].map(text => say(text))
    const { ids } = await store.append(branch, null, texts as never)
    const [side] = await store.save(id, [{ message: say('side'), parent: ids[3]! }])
    const first = await store.listStretches(id, { limit: 1 })
    expect(first.items.map(shapeOf)).toEqual([[0, 3, null]])
    // A fork inside the stretch that was read, and none at its end any more.
    await store.save(id, [{ message: say('beside'), parent: ids[1]! }])
    await store.deleteMessages([side])
    const second = await store.listStretches(id, { limit: 10, after: first.next! })
    expect(second.items.map(shapeOf)).toEqual([
      [4, 5, 3],
      [7, 7, 1],
    ])
  })
})

it('a page of branches that is read in pieces is read again if a message was deleted meanwhile', async () => {
  const db = new BetterSqlite3(':memory:')
  const store = await sqliteStore(db, { indexing: 'manual' })
  const engine = sqliteEngine(db, { source: { now: Date.now, uuid: randomUUID }, owned: false })
  const { conversation, branch } = await store.create()
  const { id } = conversation
  const { head } = await store.append(branch, null, [say('root')])
  const items = Array.from({ length: 100 }, (_, n): SaveItem => {
    // Two on each message, so that each of the path is a run.
    const on = n - 2 - (n % 2)
    return { message: say(`chain ${n}`), parent: on < 0 ? head : { item: on } }
  })
  const ids = await store.save(id, items)
  await store.createBranch(id, ids.at(-2)!, { name: 'deep' })

  const list = async (isSnapshot: boolean) => {
    const program = listBranches(id, {}, { batch: 10, mostRuns: Number.POSITIVE_INFINITY, isSnapshot })
    let step = program.next()
    while (!step.done) {
      const call = step.value
      const result = await engine.query(function* (): Program<StatementResult> {
        return yield call
      })
      if (call.name === 'runParents') await store.deleteMessages([ids[10]!], { recursive: true })
      step = program.next(result)
    }
    return step.value
  }
  expect(await list(false)).toBeNull()
  const listed = await store.listBranches(id)
  expect(await list(true)).toEqual(listed)
  expect(listed.items.map(one => [one.head, one.base])).toEqual([
    [head, null],
    [ids[8], head],
  ])
  await store.close()
  db.close()
})
