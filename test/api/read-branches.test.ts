import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBranchPageReader, readBranches, readForks } from '../../src/api/read-branches.ts'
import { type BranchEnd, findForks } from '../../src/core/branch-forks.ts'
import type { MessageId } from '../../src/core/ids.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import type { Stretch } from '../../src/core/runs.ts'
import { openStore } from '../../src/stores/open.ts'
import { forests, planted } from '../cli/forests.ts'

const seed = 1313

/** The ids of each branch's path, by the name of the branch, oldest branch first. */
async function pathsOf(store: Store, heads: ReadonlyMap<string, MessageId | null>) {
  const paths = new Map<string, ReadonlySet<string>>()
  for (const [name, head] of heads) {
    const path = head === null ? [] : await pathOf(store, head)
    paths.set(name, new Set(path.map(message => message.id)))
  }
  return paths
}

test('the own messages, the siblings and the branches of a message are those of the paths', async () => {
  await using store = await openStore(':memory:', { indexing: 'manual' })
  const property = fc.asyncProperty(forests, fc.array(fc.nat(), { maxLength: 8 }), async (parents, picks) => {
    const { id, ids } = await planted(store, parents)
    const heads = new Map<string, MessageId | null>([['main', (await store.resolve(id)).branch.head]])
    for (const [n, pick] of picks.entries()) {
      const head = ids[pick % ids.length]!
      await store.createBranch(id, head, { name: `b${n}` })
      heads.set(`b${n}`, head)
    }
    const paths = await pathsOf(store, heads)
    const on = (message: string) => [...paths].flatMap(([name, path]) => (path.has(message) ? name : []))
    const own = [...paths].map(([name, path]) => [name, [...path].filter(one => on(one).length === 1).length])

    const shown = await readBranches(store, id)
    expect(Object.fromEntries(shown.map(branch => [branch.info.name, branch.own]))).toEqual(
      Object.fromEntries(own),
    )
    const forks = await readForks(store, id)
    const messages = await store.getMessages(ids)
    for (const { id: message, seq, parentId } of messages) {
      expect(forks.through(seq).toSorted()).toEqual(on(message).toSorted())
      const beside = messages.filter(one => one.parentId === parentId).map(one => one.id)
      const expected = beside.map(one => ({ id: one, branch: on(one)[0] ?? null }))
      expect(forks.siblings(message)).toEqual(beside.length < 2 ? [] : expected)
    }
  })
  await fc.assert(property, { seed, numRuns: 60 })
})

test('the forks of 20,000 branches that leave a path one after the other fit into memory', () => {
  const count = 20_000
  const runs: Stretch[] = []
  const branches: BranchEnd[] = []
  const nothing = { messages: 1, tokens: 1, startedAt: new Date(0), endedAt: new Date(0) }
  const add = (seq: number, parentSeq: number | null) => {
    const [id, parent] = [`${seq}` as MessageId, parentSeq === null ? null : (`${parentSeq}` as MessageId)]
    runs.push({ ...nothing, first: id, last: id, firstSeq: seq, lastSeq: seq, parent, parentSeq })
  }
  for (let n = 0; n < count; n++) {
    add(2 * n, n === 0 ? null : 2 * n - 2)
    add(2 * n + 1, 2 * n)
    branches.push({ name: `b${n}`, head: { seq: 2 * n + 1 } })
  }
  // Only the last one shares no message of the path with a later branch.
  const { own } = findForks(runs, branches)
  expect([...own.values()]).toEqual([...Array(count - 1).fill(1), 2])
})

test('pages of branches read the structure once, until the conversation changes', async () => {
  await using store = await openStore(':memory:', { indexing: 'manual' })
  const { conversation, branch } = await store.create()
  const said = (content: string) => [{ role: 'user', content }] as const
  const trunk = await store.append(branch, null, said('one'))
  for (let n = 0; n < 8; n++) {
    const fork = await store.createBranch(conversation.id, trunk.head, { name: `b${n}` })
    await store.append(fork, trunk.head, said(`fork ${n}`))
  }
  const read: string[] = []
  const counted: Store = {
    ...store,
    listBranches(...args) {
      read.push('listBranches')
      return store.listBranches(...args)
    },
    listStretches(...args) {
      read.push('listStretches')
      return store.listStretches(...args)
    },
  }
  const readPage = createBranchPageReader()
  const pages = async (limit: number) => {
    read.length = 0
    const own: Record<string, number> = {}
    for (let after: string | null | undefined; after !== null; ) {
      const page = await readPage(counted, conversation.id, { limit, ...(after && { after }) })
      for (const { info, own: count } of page.items) own[info.name] = count
      after = page.next
    }
    return own
  }
  const names = Array.from({ length: 8 }, (_, n) => `b${n}`)
  const expected = { main: 0, ...Object.fromEntries(names.map(name => [name, 1])) }
  expect(await pages(3)).toEqual(expected)
  expect(read).toEqual(['listBranches', 'listBranches', 'listStretches', 'listBranches', 'listBranches'])
  expect(await pages(100)).toEqual(expected)
  expect(read).toEqual(['listBranches'])
  const grown = await store.getBranch({ conversationId: conversation.id, name: 'b7' })
  await store.append(grown, grown.head, said('more'))
  expect(await pages(100)).toEqual({ ...expected, b7: 2 })
  // The page has all branches.
  expect(read).toEqual(['listBranches', 'listStretches'])
  const alone = await store.create()
  await store.append(alone.branch, null, said('alone'))
  read.length = 0
  const page = await readPage(counted, alone.conversation.id, {})
  expect(page.items.map(({ own }) => own)).toEqual([1])
  expect(read).toEqual(['listBranches'])
})
