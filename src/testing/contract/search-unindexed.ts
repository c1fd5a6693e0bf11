import { strict as assert } from 'node:assert'
import type { MessageId } from '../../core/ids.ts'
import type { SearchOptions } from '../../core/listing.ts'
import { appendTexts, casesOf, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { hits, pages } from './search-pages.ts'

const it = casesOf('search')

export const searchUnindexedCases: readonly ContractCase[] = [
  it('searches the newest 2,000 messages that are not indexed, and counts the others', async world => {
    const { store, clock } = world
    const old = await store.create({ directory: '/old' })
    const lines = Array.from({ length: 2_100 }, (_, i) => `finch n${i}`)
    const { ids } = await appendTexts(store, old.branch, ...lines)
    clock.now += 1_000
    const other = await store.create({ directory: '/new' })
    const newest = await appendTexts(store, other.branch, 'finch elsewhere')
    const unindexed = async (options?: SearchOptions) => (await store.search('finch', options)).unindexed
    assert.equal(await unindexed(), 101)
    // The count is of the searched scope.
    assert.equal(await unindexed({ directory: '/old' }), 100)
    assert.equal(await unindexed({ directory: '/new' }), 0)
    assert.deepEqual(await hits(store, 'elsewhere'), [newest.head])
    assert.deepEqual(await hits(store, 'n2099'), [ids[2_099]])
    assert.deepEqual(await hits(store, 'n101'), [ids[101]])
    assert.deepEqual(await hits(store, 'n100'), [])
    assert.equal((await pages(store, 'finch', { limit: 200 })).length, 2_000)
    await store.indexSearch()
    assert.equal(await unindexed(), 0)
    assert.deepEqual(await hits(store, 'n100'), [ids[100]])
    assert.equal((await pages(store, 'finch', { limit: 200 })).length, 2_101)
  }),

  it('finds the same whether messages are indexed, or only some of them, or none', async world => {
    const { store, clock } = world
    const { branch } = await store.create()
    const other = await store.create({ kind: 'subagent', directory: '/d' })
    const queries = [
      'red',
      '"red panda"',
      'red -"red panda"',
      'pan*',
      'role:assistant red',
      'red -n3',
      `in:${branch.conversationId} red`,
    ]
    const look = async () => {
      const found: unknown[] = []
      for (const query of queries) {
        for (const order of ['newest', 'ranked'] as const) found.push(await hits(store, query, { order }))
        found.push(await hits(store, query, { kind: 'subagent' }))
        found.push(await hits(store, `${query} since:2026-01-01T00:00:05Z before:2026-01-01T00:00:15Z`))
      }
      return found
    }
    for (let i = 0; i < 20; i++) {
      clock.now += 1_000
      const to = i % 3 === 0 ? other.branch : branch
      await appendTexts(store, to, i % 2 === 0 ? `red panda n${i}` : `panda, red n${i}`)
      if (i === 9) await store.indexSearch()
    }
    const some = await look()
    await store.rebuildSearch()
    const none = await look()
    await store.indexSearch()
    const all = await look()
    assert.equal((all[0] as unknown[]).length, 20)
    assert.deepEqual(some, all)
    assert.deepEqual(none, all)
  }),

  it('finds prefixes that are common in the newest part of the index and rare in newer messages', async world => {
    const { store, clock } = world
    const { branch } = await store.create()
    const blocks = [
      Array.from({ length: 100 }, (_, i) => `${i % 10 === 0 ? 'zebrafish' : 'herring'} in water`),
      Array.from({ length: 500 }, () => 'nothing else'),
    ]
    const found: MessageId[] = []
    for (const texts of blocks) {
      clock.now += 1_000
      const { ids } = await appendTexts(store, branch, ...texts)
      found.unshift(...ids.filter((_, i) => texts[i]!.startsWith('zebra')).reverse())
      if (texts === blocks[0]) await store.indexSearch()
    }
    assert.equal(found.length, 10)
    for (const text of ['zebr*', 'zebr* wat*']) assert.deepEqual(await hits(store, text), found, text)
  }),

  it('finds exactly the messages with all words, however many they are', async ({ store, clock }) => {
    const { branch } = await store.create()
    const words = ['ox', 'emu', 'wolf', 'heron', 'ferret', 'gorilla', 'elephant', 'crocodile', 'hippopotamus']
    const texts = [words, ...words.map(left => words.filter(word => word !== left))].map(list =>
      list.join(' '),
    )
    const { ids } = await appendTexts(store, branch, ...texts)
    const [whole] = ids
    clock.now += 1_000
    const other = await appendTexts(
      store,
      branch,
      'a tapir',
      'a tapir and an ox',
      'a tapir and a hippopotamus',
    )
    const queries: Readonly<Record<string, readonly MessageId[]>> = {
      [words.join(' ')]: [whole!],
      [words.map(word => `${word.slice(0, 2)}*`).join(' ')]: [whole!],
      [`tapir ${words.map(word => `-${word}`).join(' ')}`]: [other.ids[0]!],
      [`"${words.join(' ')}"`]: [whole!],
      [`${words.slice(1).join(' ')} -ox`]: [ids[1]!],
    }
    for (const step of ['unindexed', 'indexed'] as const) {
      if (step === 'indexed') await store.indexSearch()
      for (const [query, expected] of Object.entries(queries)) {
        for (const order of ['newest', 'ranked'] as const)
          assert.deepEqual(await hits(store, query, { order }), expected, `${query} ${order}, ${step}`)
      }
    }
  }),

  it('decides by texts in blobs, on pages of any size', async world => {
    const { store, clock } = world
    const { branch } = await store.create()
    const all: { readonly id: MessageId; readonly text: string }[] = []
    const textOf = (i: number) =>
      `${i % 3 === 0 ? 'red panda' : 'panda, red'} ${i % 5 === 0 ? 'pangolin' : ''} ` +
      (i % 2 === 0 ? `${'.'.repeat(16_400)} long` : '')
    for (let block = 0; block < 4; block++) {
      clock.now += 1_000
      const texts = Array.from({ length: 12 }, (_, i) => textOf(block * 12 + i))
      const { ids } = await appendTexts(store, branch, ...texts)
      all.unshift(...ids.map((id, i) => ({ id, text: texts[i]! })).reverse())
      // The newest ones are not in the index.
      if (block === 2) await store.indexSearch()
    }
    const queries: Readonly<Record<string, (text: string) => boolean>> = {
      red: () => true,
      '"red panda"': text => text.startsWith('red panda'),
      'red -"red panda"': text => !text.startsWith('red panda'),
      'pang*': text => text.includes('pangolin'),
      '"red panda" lon*': text => text.startsWith('red panda') && text.includes('long'),
    }
    for (const [query, isHit] of Object.entries(queries)) {
      const expected = all.filter(({ text }) => isHit(text)).map(({ id }) => id)
      for (const limit of [5, 200]) {
        assert.deepEqual(await pages(store, query, { limit }), expected, `${query} by ${limit}`)
        const ranked = await pages(store, query, { limit, order: 'ranked' })
        assert.deepEqual(ranked.toSorted(), expected.toSorted(), `${query} ranked by ${limit}`)
      }
    }
  }),

  it('ends at its budget, and continues with the next page', async ({ store, clock }) => {
    const { branch } = await store.create()
    for (let block = 0; block < 3; block++) {
      clock.now += 1_000
      // Only the oldest ones match.
      const texts = Array.from({ length: 300 }, (_, i) =>
        block === 0 && i % 50 === 0 ? `a red-blue sky ${i}` : `a blue and red sky ${i}`,
      )
      await appendTexts(store, branch, ...texts)
      if (block === 1) await store.indexSearch()
    }
    for (const order of ['newest', 'ranked'] as const) {
      const whole = await hits(store, '"red blue"', { order })
      assert.equal(whole.length, 6)
      const first = await store.search('"red blue"', { order, budgetMs: 0 })
      assert.deepEqual(first.items, [])
      assert.notEqual(first.next, null)
      const read: MessageId[] = []
      for (let after: string | null | undefined; after !== null; ) {
        const page = await store.search('"red blue"', {
          order,
          limit: 2,
          budgetMs: 0,
          ...(after && { after }),
        })
        read.push(...page.items.map(hit => hit.message.id))
        after = page.next
      }
      // Each page ranks the messages that its budget has reached.
      assert.deepEqual(
        order === 'ranked' ? read.toSorted() : read,
        order === 'ranked' ? whole.toSorted() : whole,
      )
    }
  }),

  it('ends with the reason of its signal', async ({ store }) => {
    await startConversation(store)
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    await assert.rejects(store.search('one', { signal }), reason)
    await assert.rejects(store.indexSearch({ signal }), reason)
    assert.equal((await hits(store, 'one', { signal: new AbortController().signal })).length, 1)
  }),
]
