import { strict as assert } from 'node:assert'
import type { InvalidError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { SearchHit, SearchOptions } from '../../core/listing.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, rejects } from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { corpus, found, minute, type Planted, plant, ranked } from './search-corpus.ts'
import { budgetMs } from './search-pages.ts'

const it = casesOf('search')

async function names(store: Store, planted: Planted, query: string, options?: SearchOptions) {
  return (await store.search(query, { limit: 200, budgetMs, ...options })).items.map(hit =>
    planted.nameOf(hit.message.id),
  )
}

async function only(store: Store, query: string, options?: SearchOptions): Promise<SearchHit> {
  const { items } = await store.search(query, { budgetMs, ...options })
  assert.equal(items.length, 1, `one hit for ${query}`)
  return items[0]!
}

function marked({ snippet }: SearchHit): string[] {
  return snippet.marks.map(({ start, end }) => snippet.text.slice(start, end))
}

const said = (text: string) => ({ role: 'user', content: text })

/** One case for each group of the table, with the hits and their order: first of messages that are not in the
 *  index yet, then of the index. */
const tableCases = Object.entries(found).map(([group, rows]) =>
  it(`finds ${group}`, async world => {
    const planted = await plant(world)
    for (const place of ['outside the index', 'in the index']) {
      for (const [query, ...expected] of rows)
        assert.deepEqual(await names(world.store, planted, query), expected, `${query} ${place}`)
      await world.store.indexSearch()
    }
  }),
)

/** Invalid queries, and the positions of their errors. */
const malformed: readonly (readonly [query: string, position: number])[] = [
  ['', 0],
  ['   ', 0],
  ['!!! ...', 0],
  ['"never closed', 0],
  ['words "never closed', 6],
  ['""', 0],
  ['quick ""', 6],
  ['-lazy', 0],
  ['  -lazy -"brown fox"', 2],
  ['quick -', 6],
  ['quick - brown', 6],
  ['a*', 0],
  ['quick x*', 6],
  ['role:', 5],
  ['role:king', 5],
  ['quick role:king', 11],
  ['-role:user quick', 0],
  ['in:', 3],
  ['in:one in:two', 7],
  ['since:yesterday', 6],
  ['since:2026-02-30', 6],
  ['quick before:soon', 13],
  ['since:1d since:2d', 9],
  [`${'x'.repeat(4_095)} y`, 4_096],
  [Array.from({ length: 65 }, (_, i) => `w${i}`).join(' '), 246],
]

export const searchCases: readonly ContractCase[] = [
  ...tableCases,

  it('ranks the best match first if asked to rank', async world => {
    const planted = await plant(world)
    for (const [query, ...expected] of ranked) {
      assert.deepEqual(await names(world.store, planted, query, { order: 'ranked' }), expected, query)
      assert.deepEqual(
        (await names(world.store, planted, query, { order: 'newest' })).sort(),
        expected.toSorted(),
      )
    }
  }),

  it('ranks equal matches with the newest first', async ({ store, clock }) => {
    const { branch } = await store.create()
    const said = []
    for (let i = 0; i < 6; i++) {
      const { head } = await store.getBranch(branch)
      clock.now += minute
      said.push((await store.append(branch, head, [{ role: 'user', content: `gnu number ${i}` }])).head)
    }
    const { items } = await store.search('gnu', { order: 'ranked' })
    assert.deepEqual(
      items.map(hit => hit.message.id),
      said.reverse(),
    )
  }),

  it('finds prefixes among many messages, common and rare ones, page by page', async world => {
    const { store, clock } = world
    const { branch } = await store.create()
    const all: { id: string; text: string }[] = []
    for (let block = 0; block < 10; block++) {
      const { head } = await store.getBranch(branch)
      clock.now += minute
      const texts = Array.from({ length: 20 }, (_, i) => {
        const number = block * 20 + i
        return `commit${number % 7} ${number % 2 === 0 ? 'halfway' : 'wholly'} ${number % 90 === 3 ? 'zebrafish' : ''}`
      })
      const { ids } = await store.append(branch, head, texts.map(said) as never)
      all.push(...ids.map((id, i) => ({ id, text: texts[i]! })))
    }
    all.reverse()
    const searched = ['comm', 'half', 'zebra', 'commit3', 'nothing', 'comm half', 'whol zebra', 'comm absent']
    for (const prefixes of searched.map(text => text.split(' '))) {
      const text = prefixes.map(prefix => `${prefix}*`).join(' ')
      const expected = all.filter(message => {
        const words = message.text.split(' ')
        return prefixes.every(prefix => words.some(word => word.startsWith(prefix)))
      })
      for (const order of ['newest', 'ranked'] as const) {
        const pages: string[] = []
        for (let after: string | null | undefined; after !== null; ) {
          const page = await store.search(text, { limit: 15, order, budgetMs, ...(after && { after }) })
          pages.push(...page.items.map(hit => hit.message.id))
          after = page.next
        }
        const [got, wanted] = [pages, expected.map(({ id }) => id as string)]
        if (order === 'ranked') assert.deepEqual(got.sort(), wanted.sort(), `${text} ranked`)
        else assert.deepEqual(got, wanted, text)
      }
    }
  }),

  it('finds a phrase among many messages that contain its words apart, page by page', async world => {
    const { store, clock } = world
    const { branch } = await store.create()
    const expected: string[] = []
    for (let block = 0; block < 12; block++) {
      const { head } = await store.getBranch(branch)
      clock.now += minute
      // Increasingly rare from the newest on: the size of the next batch must not decide what is found.
      const holds = (i: number) => i % (3 + 4 * (11 - block)) === 2
      const texts = Array.from({ length: 50 }, (_, i) => (holds(i) ? 'a red-blue sky' : 'a blue and red sky'))
      const { ids } = await store.append(branch, head, texts.map(said) as never)
      expected.unshift(...ids.filter((_, i) => holds(i)).reverse())
    }
    for (const limit of [4, 25, 200]) {
      const got: string[] = []
      for (let after: string | null | undefined; after !== null; ) {
        const page = await store.search('"red blue"', { limit, budgetMs, ...(after && { after }) })
        got.push(...page.items.map(hit => hit.message.id))
        after = page.next
      }
      assert.deepEqual(got, expected, `by ${limit}`)
    }
    assert.deepEqual((await store.search('"blue sky and"')).items, [])
  }),

  it('searches one conversation, by id, id prefix, key or branch', async world => {
    const planted = await plant(world)
    const { store } = world
    const id = planted.conversationOf('people')
    const expected = ['apart']
    assert.deepEqual(await names(store, planted, 'web socket'), ['apart', 'underscored', 'socket'])
    for (const place of [id, id.toUpperCase(), 'discord:dm:7', `"discord:dm:7"`, `${id}:main`]) {
      assert.deepEqual(await names(store, planted, `web in:${place} socket`), expected, place)
    }
    assert.deepEqual(await names(store, planted, `parse in:discord:dm:7`), [])
    const other = await store.create({ id: '12345678-0000-4000-8000-000000000000' as never })
    await store.append(other.branch, null, [{ role: 'user', content: 'a web of socket lies' }])
    for (const beginning of ['123456', '12345678', '12345678-', '12345678-0000-40']) {
      assert.equal((await only(store, `in:${beginning} web`)).conversation.id, other.conversation.id)
    }
    // The dash is elsewhere in an id.
    await rejects(store.search('in:123456-78 web'), 'not_found')
    await rejects(store.search('in:12345 web'), 'invalid')
  }),

  it('refuses the beginning of several ids, unless it is a key', async ({ store }) => {
    const [one] = [
      await store.create({ id: 'abcdef12-1000-4000-8000-000000000000' as never }),
      await store.create({ id: 'abcdef12-2000-4000-8000-000000000000' as never }),
    ]
    await store.append(one.branch, null, [{ role: 'user', content: 'a heron' }])
    await rejects(store.search('heron in:abcdef12'), 'ambiguous_id')
    assert.equal((await only(store, 'heron in:ABCDEF12-1')).conversation.id, one.conversation.id)
    const keyed = await store.create({ key: 'abcdef12' })
    await store.append(keyed.branch, null, [{ role: 'user', content: 'another heron' }])
    assert.equal((await only(store, 'heron in:abcdef12')).conversation.id, keyed.conversation.id)
  }),

  it('searches the conversation of a message', async ({ store }) => {
    const { branch } = await store.create()
    const { ids } = await store.append(branch, null, [{ role: 'user', content: 'a heron' }])
    assert.equal((await only(store, `heron in:${ids[0]}`)).conversation.id, branch.conversationId)
  }),

  it('returns all messages of a conversation if that is the only condition', async world => {
    const planted = await plant(world)
    const expected = corpus.filter(said => said[1] === 'trace').map(said => said[0])
    const id = planted.conversationOf('trace')
    assert.deepEqual(await names(world.store, planted, `in:${id}`), expected.toReversed())
  }),

  it('refuses a missing conversation', async world => {
    await plant(world)
    await rejects(world.store.search('quick in:ffffffff-ffff-4fff-bfff-ffffffffffff'), 'not_found')
    await rejects(world.store.search('quick in:no-such-key-anywhere'), 'not_found')
  }),

  it('filters by time, including since and excluding before', async world => {
    const planted = await plant(world)
    const { store } = world
    const fox = planted.at('fox').toISOString()
    const dog = planted.at('dog').toISOString()
    assert.deepEqual(await names(store, planted, `quick since:${fox}`), ['dog', 'fox'])
    assert.deepEqual(await names(store, planted, `quick since:${dog}`), ['dog'])
    assert.deepEqual(await names(store, planted, `quick before:${dog}`), ['fox'])
    assert.deepEqual(await names(store, planted, `quick since:${fox} before:${fox}`), [])
    assert.deepEqual(await names(store, planted, `since:${fox} before:${dog}`), ['fox'])
    assert.deepEqual(await names(store, planted, 'quick since:2026-01-01'), ['dog', 'fox'])
    assert.deepEqual(await names(store, planted, 'quick before:2026-01-01'), [])
    assert.deepEqual(await names(store, planted, 'quick since:2026-01-01T01:30+01:00'), ['dog', 'fox'])
  }),

  it('computes ages with the clock of the store', async world => {
    const planted = await plant(world)
    const { store, clock } = world
    clock.now = planted.at('dog').getTime() + 30 * minute
    assert.deepEqual(await names(store, planted, 'quick since:30m'), ['dog'])
    assert.deepEqual(await names(store, planted, 'quick before:30m'), ['fox'])
    assert.deepEqual(await names(store, planted, 'quick since:1h'), ['dog', 'fox'])
    clock.now += 24 * 60 * minute
    assert.deepEqual(await names(store, planted, 'quick since:1d'), [])
    assert.deepEqual(await names(store, planted, 'quick before:1d since:2w'), ['dog', 'fox'])
  }),

  it('filters by directory and by kind', async world => {
    const planted = await plant(world)
    const { store } = world
    const directory = '/home/ada/code'
    assert.deepEqual(await names(store, planted, 'ts', { directory }), ['nested', 'source', 'path'])
    assert.deepEqual(await names(store, planted, 'ts', { directory, kind: 'main' }), ['source', 'path'])
    assert.deepEqual(await names(store, planted, 'ts', { kind: 'subagent' }), ['nested'])
    assert.deepEqual(await names(store, planted, 'quick', { directory }), [])
    assert.deepEqual(await names(store, planted, 'quick', { kind: 'main' }), ['dog', 'fox'])
    assert.deepEqual(await names(store, planted, 'ts', { directory: '/work' }), [])
    assert.deepEqual(await names(store, planted, 'ts', { directory: ['/work', directory] }), [
      'nested',
      'source',
      'path',
    ])
    assert.deepEqual(await names(store, planted, 'ts', { directory: ['/work'] }), [])
    assert.deepEqual(await names(store, planted, 'ts', { directory: [] }), [])
    await rejects(store.search('ts', { directory: ['/work', '/a\0b'] }), 'invalid')
    await rejects(store.search('ts', { kind: 'other' as never }), 'invalid')
  }),

  it('filters by conversations', async world => {
    const { store } = world
    const talks = []
    for (const words of ['red apple', 'green apple', 'apple tree']) {
      const { conversation, branch } = await store.create()
      await store.append(branch, null, [{ role: 'user', content: words }])
      talks.push(conversation.id)
    }
    const [red, green, tree] = talks as [ConversationId, ConversationId, ConversationId]
    const found = async (query: string, conversations: readonly ConversationId[]) => {
      const { items, unindexed } = await store.search(query, { conversations })
      assert.equal(unindexed, 0)
      return items.map(({ conversation }) => conversation.id).sort()
    }
    const unknown = '00000000-0000-4000-8000-000000000000' as ConversationId
    for (const isIndexed of [false, true]) {
      if (isIndexed) await store.indexSearch()
      assert.deepEqual(await found('apple', [red, tree]), [red, tree].sort())
      assert.deepEqual(await found('apple role:user role:assistant', [green, unknown]), [green])
      assert.deepEqual(await found('app*', [green]), [green])
      assert.deepEqual(await found(`apple in:${red}`, [red, green]), [red])
      assert.deepEqual(await found(`apple in:${red}`, [green]), [])
      assert.deepEqual(await found('apple', [unknown]), [])
      assert.deepEqual(await found('apple', []), [])
    }
    await rejects(store.search('apple', { conversations: ['nothing' as ConversationId] }), 'invalid')
  }),

  it('returns the message, its conversation and its branches for each hit', async world => {
    const planted = await plant(world)
    const { store } = world
    const { message, conversation, branches } = await only(store, 'quokka')
    assert.deepEqual(message, (await store.getMessages([planted.ids.thinking!]))[0])
    assert.deepEqual(conversation, {
      id: planted.conversationOf('trace'),
      title: null,
      kind: 'subagent',
      directory: '/home/ada/code',
      channel: null,
    })
    assert.deepEqual(branches, ['main'])
    const people = await only(store, 'lovelace')
    assert.deepEqual(people.conversation, {
      id: planted.conversationOf('people'),
      title: 'People',
      kind: 'main',
      directory: null,
      channel: 'discord',
    })
  }),

  it('shows a short text whole, with marked words', async world => {
    await plant(world)
    const { store } = world
    const emoji = await only(store, 'green 🎉')
    assert.equal(emoji.snippet.text, 'deploy finished 🚀🎉 all green')
    assert.deepEqual(emoji.snippet.marks, [
      { start: 18, end: 20 },
      { start: 25, end: 30 },
    ])
    assert.deepEqual(marked(await only(store, '"brown fox" lazy')), ['brown fox', 'lazy'])
    assert.deepEqual(marked(await only(store, 'hauptstrasse zurich')), ['Zürich', 'Hauptstraße'])
    assert.deepEqual(marked(await only(store, '数据库 北京')), ['北京', '数据库'])
    assert.deepEqual(marked(await only(store, 'getuser*')), ['getUser'])
    assert.deepEqual(marked(await only(store, 'dog -lazy')), ['dog'])
  }),

  it('cuts a snippet from a long text, on one line', async world => {
    await plant(world)
    const { store } = world
    for (const query of ['zebrafish', 'axolotl', 'pangolin']) {
      const hit = await only(store, query)
      assert.deepEqual(marked(hit), [query])
      assert.ok(hit.snippet.text.length > 60 && hit.snippet.text.length <= 170, hit.snippet.text)
      assert.ok(!hit.snippet.text.includes('\n'))
      assert.ok(hit.snippet.text.startsWith('…'))
      const short = await only(store, query, { snippetLength: 40 })
      assert.ok(short.snippet.text.length <= 50, short.snippet.text)
      assert.deepEqual(marked(short), [query])
    }
    for (const query of ['warehouse', 'read_file', 'tapir', 'quokka', 'quux']) {
      assert.equal(marked(await only(store, query)).length, 1, query)
    }
    const { snippet } = await only(store, 'role:system')
    assert.deepEqual(snippet, { text: 'A reviewer has joined: speak formally', marks: [] })
  }),

  it('refuses an invalid query and returns the position of the error', async world => {
    await plant(world)
    for (const [query, position] of malformed) {
      const error = await rejects<InvalidError>(world.store.search(query), 'invalid')
      assert.deepEqual([error.field, error.position], ['query', position], query.slice(0, 40))
    }
  }),

  it('refuses invalid options and accepts the largest page', async world => {
    await plant(world)
    const { store } = world
    for (const limit of [0, -1, 1.5, 201, Number.NaN]) await rejects(store.search('ts', { limit }), 'invalid')
    await rejects(store.search('ts', { order: 'oldest' as never }), 'invalid')
    await rejects(store.search('ts', { snippetLength: -1 }), 'invalid')
    const error = await rejects<InvalidError>(store.search('ts', { after: 'no cursor' }), 'invalid')
    assert.equal(error.field, 'after')
    assert.equal((await store.search('ts', { limit: 200 })).items.length, 3)
  }),
]
