import { strict as assert } from 'node:assert'
import type { NewConversation } from '../../core/conversation.ts'
import type { InvalidError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationFilter, ListConversations, ListedConversation } from '../../core/listing.ts'
import type { Store } from '../../core/ports.ts'
import { appendTexts, casesOf, rejects, startConversation } from './build.ts'
import type { CaseContext, ContractCase } from './contract-case.ts'

const it = casesOf('lists')

/** A conversation id that sorts high or low. */
const numbered = (n: number) =>
  `${n.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000` as ConversationId

/** Creates conversations a second apart, so that the last one is the newest. */
async function fill(
  { store, clock }: CaseContext,
  conversations: readonly NewConversation[],
): Promise<ConversationId[]> {
  const ids: ConversationId[] = []
  for (const one of conversations) {
    clock.now += 1_000
    ids.push((await store.create(one)).conversation.id)
  }
  return ids
}

const titled = (...titles: string[]) => titles.map(title => ({ title }))

/** The titles that pass a filter, newest first. The count must agree. */
async function titles(store: Store, filter: ConversationFilter = {}): Promise<(string | null)[]> {
  const { items, next, skipped } = await store.listConversations({ ...filter, limit: 1_000 })
  assert.deepEqual([next, skipped], [null, []])
  assert.equal(await store.countConversations(filter), items.length, JSON.stringify(filter))
  return items.map(one => one.title)
}

/** Every page from the first to the last. `between` runs after each page. */
async function pages(
  store: Store,
  options: ListConversations,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<ListedConversation[][]> {
  const read: ListedConversation[][] = []
  let after: string | null = null
  do {
    const page = await store.listConversations(after === null ? options : { ...options, after })
    read.push([...page.items])
    after = page.next
    if (after !== null) await between(read.length)
    assert.ok(read.length < 100, 'the pages end')
  } while (after !== null)
  return read
}

export const listCases: readonly ContractCase[] = [
  it('lists nothing in an empty store', async ({ store }) => {
    assert.deepEqual(await store.listConversations(), { items: [], next: null, skipped: [] })
    assert.equal(await store.countConversations(), 0)
  }),
  it('lists the most recent activity first (S1-27, S1-44)', async world => {
    const { store, clock } = world
    const [one, two] = await fill(world, titled('one', 'two', 'three'))
    assert.deepEqual(await titles(store), ['three', 'two', 'one'])
    clock.now += 1_000
    await appendTexts(store, { conversationId: one!, name: 'main' }, 'again')
    assert.deepEqual(await titles(store), ['one', 'three', 'two'])
    clock.now += 1_000
    await store.updateConversation(two!, { model: 'x' })
    assert.deepEqual(await titles(store), ['two', 'one', 'three'])
  }),
  it('lists all fields of conversations, each with its active branch (S1-3, S1-21)', async ({ store }) => {
    const fields = { title: 't', model: 'm', directory: '/d', prompt: 'p', tags: ['x'], metadata: { n: 1 } }
    const { conversation, ids } = await startConversation(store, { ...fields, key: 'k' })
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side', key: 'k2' })
    await store.activateBranch(side)
    const { items } = await store.listConversations()
    const whole = await store.getConversation(conversation.id)
    assert.deepEqual(items, [{ ...whole, branch: await store.getBranch(side) }])
    assert.equal(items[0]?.messages, 3)
  }),
  it('returns 20 conversations by default (S1-27)', async ({ store }) => {
    for (let n = 0; n < 23; n++) await store.create({ title: `${n}` })
    const page = await store.listConversations()
    assert.equal(page.items.length, 20)
    assert.equal((await store.listConversations({ after: page.next! })).items.length, 3)
    assert.equal((await store.listConversations({ limit: 23 })).next, null)
    assert.equal((await store.listConversations({ limit: 1 })).items.length, 1)
    assert.equal(await store.countConversations(), 23)
  }),
  it('refuses invalid limits and cursors', async ({ store }) => {
    await store.create()
    for (const limit of [0, -1, 1.5, 1_001, Number.NaN, '5' as unknown as number]) {
      const error = await rejects<InvalidError>(store.listConversations({ limit }), 'invalid')
      assert.equal(error.field, 'limit')
    }
    for (const after of ['', 'x', '0', "' or 1=1 --", '💥', '\0', 'W10=', 'e30=', 'bnVsbA==', '{"id":1}']) {
      const error = await rejects<InvalidError>(store.listConversations({ after }), 'invalid')
      assert.equal(error.field, 'after', after)
    }
  }),
  it('refuses or survives forged cursors', async ({ store }) => {
    const { conversation } = await startConversation(store)
    for (const place of [
      '[1e400,"x"]',
      '[-1.5,"\\u0000"]',
      '[1e300,"\\ud800"]',
      '[1e400]',
      '[-0.5]',
      '["x"]',
      '[[]]',
    ]) {
      const after = Buffer.from(place).toString('base64url')
      const lists = [
        store.listConversations({ after }),
        store.listMessages({ conversationId: conversation.id, after }),
      ]
      for (const result of await Promise.allSettled(lists)) {
        if (result.status === 'rejected')
          assert.equal(result.reason.code, 'invalid', `${place}: ${result.reason}`)
        else assert.ok(Array.isArray(result.value.items))
      }
    }
    assert.equal((await store.listConversations()).items.length, 1)
  }),
  it('orders conversations of the same millisecond by id and pages through all of them', async ({
    store,
  }) => {
    const order = [5, 2, 9, 0xffffffff, 1, 7, 3].map(numbered)
    for (const id of order) await store.create({ id })
    const expected = [...order].sort().reverse()
    for (const limit of [1, 2, 3, 7, 8]) {
      const read = await pages(store, { limit })
      assert.deepEqual(
        read.flat().map(one => one.id),
        expected,
        `limit ${limit}`,
      )
      assert.equal(read.length, Math.ceil(expected.length / limit))
    }
  }),
  it('continues pages at the same position while others are created, continued and deleted', async world => {
    const { store, clock } = world
    const ids = await fill(world, titled('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'))
    const read = await pages(store, { limit: 3 }, async page => {
      clock.now += 1_000
      await store.create({ title: `new ${page}` })
      if (page !== 1) return
      // 9, 8 and 7 have been read. Now 8 and 2 move to the front, and 4 is deleted.
      await appendTexts(store, { conversationId: ids[8]!, name: 'main' }, 'again')
      await appendTexts(store, { conversationId: ids[2]!, name: 'main' }, 'again')
      await store.trash(ids[4]!)
    })
    const seen = read.flat().map(one => one.title)
    assert.deepEqual(seen, ['9', '8', '7', '6', '5', '3', '1', '0'])
  }),
  it('pages within a filter and counts all matches', async world => {
    const { store } = world
    const mixed = Array.from({ length: 12 }, (_, n) => ({
      title: `${n}`,
      channel: n % 3 === 0 ? 'cli' : 'discord',
    }))
    await fill(world, mixed)
    const read = await pages(store, { channel: 'cli', limit: 2 })
    assert.deepEqual(
      read.map(page => page.map(one => one.title)),
      [
        ['9', '6'],
        ['3', '0'],
      ],
    )
    assert.equal(await store.countConversations({ channel: 'cli' }), 4)
    assert.equal(await store.countConversations({ channel: 'discord' }), 8)
  }),
  it('filters by channel, directory, project and task, and by their absence (S0-22, S1-8, S2-5, S2-6)', async world => {
    const { store } = world
    for (const field of ['channel', 'directory', 'project', 'task'] as const) {
      const other = field === 'channel' ? 'project' : 'channel'
      const tag = field
      await fill(world, [
        { title: 'a', tags: [tag], [field]: '/x' },
        { title: 'b', tags: [tag], [field]: '/x/y' },
        { title: 'none', tags: [tag], [other]: '/x' },
        { title: 'A', tags: [tag], [field]: '/X' },
      ])
      assert.deepEqual(await titles(store, { tag, [field]: '/x' }), ['a'], field)
      assert.deepEqual(await titles(store, { tag, [field]: '/x/y' }), ['b'], field)
      assert.deepEqual(await titles(store, { tag, [field]: null }), ['none'], field)
      for (const pattern of ['/_', '/%', '/x/', "'"]) {
        assert.deepEqual(await titles(store, { tag, [field]: pattern }), [], `${field} ${pattern}`)
      }
    }
    const tag = 'directory'
    assert.deepEqual(await titles(store, { tag, directory: ['/x', '/X', '/nowhere'] }), ['A', 'a'])
    assert.deepEqual(await titles(store, { tag, directory: ['/x/y'] }), ['b'])
    assert.deepEqual(await titles(store, { tag, directory: [] }), [])
    await rejects(store.listConversations({ directory: ['/x', '/a\0b'] }), 'invalid')
    await rejects(store.countConversations({ directory: ['/x', 1 as never] }), 'invalid')
    const channels = ['cli', 'discord', 'claude-code']
    await fill(
      world,
      channels.map(channel => ({ title: `by ${channel}`, channel })),
    )
    for (const channel of channels) {
      assert.deepEqual(await titles(store, { channel }), [`by ${channel}`])
    }
  }),
  it('filters by kind and by parent conversation (S3-4)', async world => {
    const { store } = world
    const [one, two] = await fill(world, titled('one', 'two'))
    const run = (title: string, conversationId: ConversationId) =>
      ({ title, kind: 'subagent', parent: { conversationId, messageId: null } }) as const
    await fill(world, [run('1a', one!), run('2a', two!), run('1b', one!)])
    assert.deepEqual(await titles(store, { kind: 'main' }), ['two', 'one'])
    assert.deepEqual(await titles(store, { kind: 'subagent' }), ['1b', '2a', '1a'])
    assert.deepEqual(await titles(store, { parent: one! }), ['1b', '1a'])
    assert.deepEqual(await titles(store, { parent: two! }), ['2a'])
    assert.deepEqual(await titles(store, { parent: numbered(1) }), [])
    assert.deepEqual(await titles(store, { parent: one!, kind: 'main' }), [])
  }),
  it('filters by the prefix of any branch key, case-sensitively', async world => {
    const { store } = world
    const keyed = (key: string) => ({ key, title: key })
    await fill(
      world,
      ['cli:default', 'cli:work', 'CLI:default', 'cliX', 'a_b', 'axb', 'p%q', 'pxq', '[x]*', 'xx'].map(keyed),
    )
    const [quiet] = await fill(world, titled('no key on main', 'no key at all'))
    await store.createBranch(quiet!, null, { name: 'side', key: 'cli:side' })
    await store.createBranch(quiet!, null, { name: 'more', key: 'cli:more' })
    assert.deepEqual(await titles(store, { keyPrefix: 'cli:' }), [
      'no key on main',
      'cli:work',
      'cli:default',
    ])
    assert.deepEqual(await titles(store, { keyPrefix: 'CLI' }), ['CLI:default'])
    assert.deepEqual(await titles(store, { keyPrefix: 'cli:default' }), ['cli:default'])
    assert.deepEqual(await titles(store, { keyPrefix: 'a_' }), ['a_b'])
    assert.deepEqual(await titles(store, { keyPrefix: 'p%' }), ['p%q'])
    assert.deepEqual(await titles(store, { keyPrefix: '[x]' }), ['[x]*'])
    assert.deepEqual(await titles(store, { keyPrefix: 'cli:default:' }), [])
  }),
  it('filters by a whole tag', async world => {
    const { store } = world
    await fill(world, [
      { title: 'a', tags: ['ci', 'red'] },
      { title: 'b', tags: ['ci'] },
      { title: 'c', tags: ['CI', 'ci2', 'c"i'] },
      { title: 'd' },
    ])
    assert.deepEqual(await titles(store, { tag: 'ci' }), ['b', 'a'])
    assert.deepEqual(await titles(store, { tag: 'red' }), ['a'])
    assert.deepEqual(await titles(store, { tag: 'c"i' }), ['c'])
    for (const tag of ['c', 'c_', '%', 'ci,red']) assert.deepEqual(await titles(store, { tag }), [], tag)
  }),
  it('filters by words in the title, ignoring case and accents', async world => {
    const { store } = world
    await fill(world, titled('Fix the Crème brûlée', 'ÉCLAIR 100%', 'eclair_2', 'Straße', 'Ελλάδα'))
    await fill(world, [{}])
    assert.deepEqual(await titles(store, { title: 'creme BRULEE' }), ['Fix the Crème brûlée'])
    assert.deepEqual(await titles(store, { title: 'éclair' }), ['eclair_2', 'ÉCLAIR 100%'])
    assert.deepEqual(await titles(store, { title: 'cre\u0300me' }), ['Fix the Crème brûlée'])
    assert.deepEqual(await titles(store, { title: 'ΕΛΛΑΔΑ' }), ['Ελλάδα'])
    assert.deepEqual(await titles(store, { title: 'the' }), ['Fix the Crème brûlée'])
    assert.deepEqual(await titles(store, { title: '0%' }), ['ÉCLAIR 100%'])
    assert.deepEqual(await titles(store, { title: '_' }), ['eclair_2'])
    for (const title of ['%x', 'r__', '*', "'", 'thex'])
      assert.deepEqual(await titles(store, { title }), [], title)
  }),
  it('filters by the current title after a change', async world => {
    const { store } = world
    const [id] = await fill(world, titled('Old words'))
    await store.updateConversation(id!, { title: 'New words' })
    await store.updateConversation(id!, { model: 'x' })
    assert.deepEqual(await titles(store, { title: 'old' }), [])
    assert.deepEqual(await titles(store, { title: 'new' }), ['New words'])
    const place = await store.create()
    await appendTexts(store, place, 'Found by its first words')
    assert.deepEqual(await titles(store, { title: 'FIRST' }), ['Found by its first words'])
  }),
]
