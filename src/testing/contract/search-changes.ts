import { strict as assert } from 'node:assert'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { BranchInConversation, Store } from '../../core/ports.ts'
import { appendTexts, casesOf, holder, say, startConversation, texts } from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { found, plant } from './search-corpus.ts'
import { hits, pages } from './search-pages.ts'

const it = casesOf('search')

/** Two conversations with equal messages at the same times: 12 messages each, two per time. */
async function twins(store: Store, clock: { now: number }) {
  const ids = ['bbbbbbbb-0000-4000-8000-000000000000', 'aaaaaaaa-0000-4000-8000-000000000000']
  const places: BranchInConversation[] = []
  for (const id of ids) places.push(await store.create({ id: id as ConversationId }))
  for (let round = 0; round < 6; round++) {
    for (const { branch } of places)
      await appendTexts(store, branch, `llama ${round} one`, `llama ${round} two`)
    clock.now += 1_000
  }
  return places
}

export const searchChangesCases: readonly ContractCase[] = [
  it('orders messages of the same time by seq, then by conversation', async world => {
    const { store, clock } = world
    await twins(store, clock)
    const { items } = await store.search('llama', { limit: 200 })
    const order = items.map(({ message }) => [
      message.createdAt.getTime(),
      message.seq,
      message.conversationId,
    ])
    const expected = order.toSorted((a, b) => {
      const [time, seq] = [(b[0] as number) - (a[0] as number), (b[1] as number) - (a[1] as number)]
      return time || seq || (a[2]! < b[2]! ? -1 : 1)
    })
    assert.equal(order.length, 24)
    assert.deepEqual(order, expected)
  }),

  it('pages through ties without gaps or duplicates', async ({ store, clock }) => {
    await twins(store, clock)
    for (const order of ['newest', 'ranked'] as const) {
      const whole = await hits(store, 'llama', { order })
      assert.equal(new Set(whole).size, 24)
      for (const limit of [1, 5, 7, 12, 24, 100]) {
        assert.deepEqual(await pages(store, 'llama', { order, limit }), whole, `${order} by ${limit}`)
      }
    }
  }),

  it('pages through matches that the index alone cannot decide', async ({ store, clock }) => {
    const { branch } = await store.create()
    for (let i = 0; i < 60; i++) {
      clock.now += 1_000
      await appendTexts(store, branch, i % 3 === 0 ? `red panda ${i}` : `panda, red ${i}`)
    }
    const whole = await hits(store, '"red panda"')
    assert.equal(whole.length, 20)
    for (const limit of [1, 7, 20]) assert.deepEqual(await pages(store, '"red panda"', { limit }), whole)
    const others = await hits(store, 'panda -"red panda"')
    assert.equal(others.length, 40)
    assert.deepEqual(await pages(store, 'panda -"red panda"', { limit: 9 }), others)
  }),

  it('pages through the earliest and the latest times', async ({ store }) => {
    const { conversation } = await store.create()
    const years = [9999, 1970, 2500, 9000, 2249, 2026, 2248, 3000, 8000, 2247, 1971, 5000]
    const items = years.map(year => ({
      message: { ...say(`comet of ${year}`), createdAt: new Date(Date.UTC(year, 5, 1)) },
      parent: null,
    }))
    await store.save(conversation.id, items)
    const expected = years.toSorted((a, b) => b - a).map(year => `comet of ${year}`)
    for (const limit of [1, 3, 12]) {
      const read = await pages(store, 'comet', { limit })
      assert.deepEqual(texts(await store.getMessages(read)), expected, `by ${limit}`)
    }
    const far = await hits(store, 'comet since:2400-01-01 before:9000-01-01')
    assert.deepEqual(
      texts(await store.getMessages(far)),
      [8000, 5000, 3000, 2500].map(year => `comet of ${year}`),
    )
  }),

  it('returns 20 hits by default', async ({ store, clock }) => {
    await twins(store, clock)
    const page = await store.search('llama')
    assert.equal(page.items.length, 20)
    assert.notEqual(page.next, null)
    const rest = await store.search('llama', { after: page.next! })
    assert.equal(rest.items.length, 4)
    assert.equal(rest.next, null)
  }),

  it('continues at the end of a page, whatever was stored or deleted since', async ({ store, clock }) => {
    const { branch } = await store.create()
    const lines = Array.from({ length: 10 }, (_, i) => `llama ${i}`)
    const { ids } = await appendTexts(store, branch, ...lines)
    clock.now += 1_000
    const first = await store.search('llama', { limit: 4 })
    await appendTexts(store, branch, 'llama late')
    const [extra] = await store.save(branch.conversationId, [{ message: say('no animal'), parent: null }])
    await store.deleteMessages([extra])
    const second = await store.search('llama', { limit: 4, after: first.next! })
    assert.deepEqual(
      [...first.items, ...second.items].map(hit => hit.message.id),
      ids.toReversed().slice(0, 8),
    )
  }),

  it('names every branch that contains the message, the active one first', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side' })
    await store.append(side, ids[1], [say('four')])
    await store.createBranch(conversation.id, ids[0], { name: 'early' })
    await store.save(conversation.id, [{ message: say('nowhere'), parent: ids[2] }])
    const branches = async (query: string) => (await store.search(query)).items[0]!.branches
    assert.equal((await branches('one'))[0], 'main')
    assert.deepEqual([...(await branches('one'))].sort(), ['early', 'main', 'side'])
    assert.deepEqual(await branches('two'), ['main', 'side'])
    assert.deepEqual(await branches('three'), ['main'])
    assert.deepEqual(await branches('four'), ['side'])
    assert.deepEqual(await branches('nowhere'), [])
    await store.activateBranch(side)
    assert.deepEqual(await branches('two'), ['side', 'main'])
    await store.moveBranch(branch, ids[2], ids[0])
    assert.deepEqual(await branches('three'), [])
    await store.renameBranch(side, 'renamed')
    assert.deepEqual(await branches('two'), ['renamed'])
  }),

  it(
    'finds messages of another handle with the next query',
    async ({ store, second }) => {
      const { branch } = await store.create()
      const other = await second()
      for (let round = 0; round < 10; round++) {
        const [writer, reader] = round % 2 === 0 ? [other, store] : [store, other]
        const { head } = await appendTexts(writer, branch, `round${round} ostrich`)
        assert.deepEqual(await hits(reader, `round${round}`), [head])
        assert.equal((await hits(writer, 'ostrich')).length, round + 1)
      }
    },
    'second handle',
  ),

  it(
    'finds each message once if two handles index at the same time',
    async ({ store, second }) => {
      const { branch } = await store.create()
      const other = await second()
      for (let round = 0; round < 10; round++) {
        await appendTexts(store, branch, `emu ${round} one`, `emu ${round} two`)
        await Promise.all([store.indexSearch(), other.indexSearch(), hits(store, 'emu')])
        const [mine, theirs] = await Promise.all([hits(store, 'emu'), hits(other, 'emu')])
        assert.equal(mine.length, (round + 1) * 2)
        assert.deepEqual(theirs, mine)
      }
    },
    'second handle',
  ),

  it('finds a draft after it has become a message', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const turn = { key: 'turn', step: 0, status: 'open', holder: holder() } as const
    await store.append(branch, null, [say('question about lynxes')], { turn })
    assert.equal((await hits(store, 'lynxes')).length, 1)
    await store.putDraft(conversation.id, 'turn', holder(), [
      { n: 0, type: 'text', text: 'a wolver' },
      { n: 1, type: 'text', text: 'ine appears' },
    ])
    assert.deepEqual(await hits(store, 'wolverine'), [])
    const ended = await store.endTurn(conversation.id, 'turn', { status: 'interrupted', heldBy: holder() })
    assert.deepEqual(await hits(store, 'wolverine'), [ended.message])
  }),

  it('finds saved messages without a branch, and imported messages with old times', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const newest = await appendTexts(store, branch, 'a new heron')
    const at = new Date('2019-05-05T00:00:00Z')
    const ids = await store.save(conversation.id, [
      { message: { ...say('an old heron'), createdAt: at }, parent: null },
      { message: { ...say('an older heron'), createdAt: new Date(0) }, parent: null },
    ])
    assert.deepEqual(await hits(store, 'heron'), [newest.head, ...ids])
    assert.deepEqual(await hits(store, 'heron before:2020-01-01'), [...ids])
    assert.deepEqual(await hits(store, 'heron since:2019-01-01 before:2020-01-01'), [ids[0]])
  }),

  it('returns no second hit for a retry', async ({ store }) => {
    const { branch } = await store.create()
    const turn = { key: 'turn', step: 0 }
    const { head } = await store.append(branch, null, [say('one gecko')], { turn })
    await store.append(branch, null, [say('one gecko')], { turn })
    assert.deepEqual(await hits(store, 'gecko'), [head])
  }),

  it('does not find deleted messages, and finds their replacements', async ({ store }) => {
    const { branch } = await store.create()
    const { ids } = await appendTexts(store, branch, 'beaver one', 'beaver two', 'beaver three')
    await store.indexSearch()
    assert.equal((await hits(store, 'beaver')).length, 3)
    await store.deleteMessages([ids[1]!], { recursive: true })
    assert.deepEqual(await hits(store, 'beaver'), [ids[0]])
    // The newest rows were deleted: their numbers must not make the index skip the next ones.
    const again = await appendTexts(store, branch, 'beaver four', 'otter')
    await store.indexSearch()
    assert.deepEqual(await hits(store, 'beaver'), [again.ids[0], ids[0]])
    assert.deepEqual(await hits(store, 'otter'), [again.ids[1]])
    const unseen = await appendTexts(store, branch, 'beaver five')
    await store.deleteMessages([unseen.head])
    assert.deepEqual(await hits(store, 'beaver'), [again.ids[0], ids[0]])
  }),

  it('does not find trashed conversations, and finds them again after a restore', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const seen = await appendTexts(store, branch, 'marmot one')
    await store.indexSearch()
    assert.equal((await hits(store, 'marmot')).length, 1)
    const unseen = await appendTexts(store, branch, 'marmot two')
    await store.trash(conversation.id)
    assert.deepEqual(await hits(store, 'marmot'), [])
    assert.deepEqual(await hits(store, 'marmot', { order: 'ranked' }), [])
    await store.restore(conversation.id)
    assert.deepEqual(await hits(store, 'marmot'), [unseen.head, seen.head])
    await store.trash(conversation.id)
    await store.purge(conversation.id)
    const next = await startConversation(store)
    assert.deepEqual(await hits(store, 'marmot'), [])
    assert.deepEqual(await hits(store, 'two'), [next.ids[1]])
  }),

  it('returns the current fields of a conversation', async ({ store }) => {
    const { conversation } = await startConversation(store)
    await hits(store, 'two')
    await store.updateConversation(conversation.id, { title: 'renamed', directory: '/new', channel: 'cli' })
    const { items } = await store.search('two', { directory: '/new' })
    assert.deepEqual(
      items.map(hit => [hit.conversation.title, hit.conversation.directory, hit.conversation.channel]),
      [['renamed', '/new', 'cli']],
    )
  }),

  it('finds the same after the index was rebuilt', async world => {
    const { store } = world
    await plant(world)
    const queries = Object.values(found).flatMap(rows => rows.slice(0, 3).map(([query]) => query))
    const before = new Map<string, MessageId[]>()
    for (const query of queries) before.set(query, await hits(store, query))
    await store.rebuildSearch()
    for (const query of queries) assert.deepEqual(await hits(store, query), before.get(query), query)
    await store.indexSearch()
    for (const query of queries) assert.deepEqual(await hits(store, query), before.get(query), query)
    await store.rebuildSearch()
    const { head } = await appendTexts(
      store,
      (await startConversation(store)).branch,
      'after the rebuild: dugong',
    )
    assert.deepEqual(await hits(store, 'dugong'), [head])
  }),

  it('returns the number of messages that it indexes', async ({ store }) => {
    assert.equal(await store.indexSearch(), 0)
    const { branch } = await startConversation(store)
    await startConversation(store)
    assert.equal(await store.indexSearch(), 6)
    assert.equal(await store.indexSearch(), 0)
    await appendTexts(store, branch, 'four')
    assert.equal(await store.indexSearch(), 1)
    await appendTexts(store, branch, 'five')
    assert.equal(await store.indexSearch(), 1)
    await store.rebuildSearch()
    assert.equal(await store.indexSearch(), 8)
    assert.equal((await hits(store, 'two')).length, 2)
  }),

  it('indexes more messages than one batch', async ({ store }) => {
    const { branch } = await store.create()
    const lines = Array.from({ length: 2_600 }, (_, i) => `finch n${i}`)
    const { ids } = await appendTexts(store, branch, ...lines)
    const seen: { messages: number; total: number }[] = []
    assert.equal(await store.indexSearch({ onProgress: progress => seen.push(progress) }), 2_600)
    assert.ok(seen.length > 1, 'more than one batch')
    assert.deepEqual(seen.at(-1), { messages: 2_600, total: 2_600 })
    assert.deepEqual(await hits(store, 'n0'), [ids[0]])
    assert.deepEqual(await hits(store, 'n2599'), [ids[2_599]])
    assert.equal(await store.indexSearch(), 0)
    assert.deepEqual(await hits(store, 'finch'), ids.toReversed().slice(0, 200))
    const all = await pages(store, 'finch', { limit: 200 })
    assert.equal(new Set(all).size, 2_600)
  }),
]
