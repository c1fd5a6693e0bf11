import { strict as assert } from 'node:assert'
import type { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ListMessages } from '../../core/listing.ts'
import type { Store } from '../../core/ports.ts'
import { appendTexts, casesOf, noConversation, rejects, say, startConversation, texts } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('message lists')

/** A conversation with messages 0, 1, 2 …, all on main. */
async function numbered(store: Store, count: number): Promise<ConversationId> {
  const { conversation, branch } = await store.create()
  const messages = Array.from({ length: count }, (_, n) => say(`${n}`, n % 2 === 0 ? 'user' : 'assistant'))
  await store.append(branch, null, messages)
  return conversation.id
}

const list = async (store: Store, options: ListMessages) => texts((await store.listMessages(options)).items)

/** Every page from the first to the last. `between` runs after each page. */
async function pages(
  store: Store,
  options: ListMessages,
  between: () => Promise<unknown> = async () => {},
): Promise<string[][]> {
  const read: string[][] = []
  let after: string | null = null
  do {
    const page = await store.listMessages(after === null ? options : { ...options, after })
    read.push(texts(page.items))
    after = page.next
    if (after !== null) await between()
    assert.ok(read.length < 100, 'the pages end')
  } while (after !== null)
  return read
}

export const messageListCases: readonly ContractCase[] = [
  it('lists the newest first by default, or the oldest first (S1-29, S3-35, S3-39, S3-46, S3-82)', async ({
    store,
  }) => {
    const conversationId = await numbered(store, 4)
    assert.deepEqual(await list(store, { conversationId }), ['3', '2', '1', '0'])
    assert.deepEqual(await list(store, { conversationId, order: 'descending' }), ['3', '2', '1', '0'])
    assert.deepEqual(await list(store, { conversationId, order: 'ascending' }), ['0', '1', '2', '3'])
    const bad = { conversationId, order: 'sideways' } as unknown as ListMessages
    await rejects(store.listMessages(bad), 'invalid')
  }),
  it('returns complete messages with id, parent and time (S3-26, S3-27, S3-28, S3-46, S3-82)', async ({
    store,
  }) => {
    const { conversation, ids } = await startConversation(store)
    const { items, next, skipped } = await store.listMessages({
      conversationId: conversation.id,
      order: 'ascending',
    })
    assert.deepEqual(items, await store.getMessages(ids))
    assert.deepEqual(
      items.map(one => one.id),
      ids,
    )
    assert.deepEqual(
      items.map(one => one.parentId),
      [null, ids[0], ids[1]],
    )
    assert.ok(items.every(one => one.createdAt instanceof Date && one.content.length === 1))
    assert.deepEqual([next, skipped], [null, []])
    const newestFirst = await store.listMessages({ conversationId: conversation.id })
    assert.deepEqual(newestFirst.items, [...items].reverse())
  }),
  it('lists the messages after a seq, in both orders and with filters', async ({ store }) => {
    const conversationId = await numbered(store, 6)
    const options = { conversationId, order: 'ascending' } as const
    assert.deepEqual(await list(store, { ...options, afterSeq: -1 }), ['0', '1', '2', '3', '4', '5'])
    assert.deepEqual(await list(store, { ...options, afterSeq: 3 }), ['4', '5'])
    assert.deepEqual(await list(store, { ...options, afterSeq: 5 }), [])
    assert.deepEqual(await list(store, { ...options, afterSeq: 99 }), [])
    assert.deepEqual(await list(store, { conversationId, afterSeq: 3 }), ['5', '4'])
    assert.deepEqual(await list(store, { ...options, afterSeq: 1, roles: ['user'] }), ['2', '4'])
    assert.deepEqual(await pages(store, { ...options, afterSeq: 1, limit: 3 }), [['2', '3', '4'], ['5']])
    assert.deepEqual(await pages(store, { conversationId, afterSeq: 1, limit: 3 }), [['5', '4', '3'], ['2']])
    await store.deleteMessages([(await store.listMessages({ conversationId })).items[0]!.id])
    assert.deepEqual(await list(store, { ...options, afterSeq: 3 }), ['4'])
    await rejects(store.listMessages({ ...options, afterSeq: -2 }), 'invalid')
    await rejects(store.listMessages({ conversationId: noConversation, afterSeq: 0 }), 'not_found')
  }),
  it('orders by seq, not by the time of the message (S0-26, S1-18)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const at = (text: string, time: string) => ({ ...say(text), createdAt: new Date(time) })
    const { head } = await store.append(branch, null, [at('later', '2030-01-01T00:00:00Z')])
    await store.append(branch, head, [at('earlier', '1999-01-01T00:00:00Z'), say('now')])
    const conversationId = conversation.id
    assert.deepEqual(await list(store, { conversationId, order: 'ascending' }), ['later', 'earlier', 'now'])
    assert.deepEqual(await list(store, { conversationId }), ['now', 'earlier', 'later'])
  }),
  it('lists all branches and roots of one conversation and nothing of another (S2-62, S3-31)', async ({
    store,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const other = await startConversation(store)
    const conversationId = conversation.id
    const side = await store.createBranch(conversationId, ids[0], { name: 'side' })
    await appendTexts(store, side, 'aside')
    await appendTexts(store, other, 'elsewhere')
    await appendTexts(store, branch, 'four')
    await store.save(conversationId, [{ message: say('a root'), parent: null }])
    const expected = ['one', 'two', 'three', 'aside', 'four', 'a root']
    const { items } = await store.listMessages({ conversationId, order: 'ascending' })
    assert.deepEqual(texts(items), expected)
    assert.deepEqual(
      items.map(one => one.seq),
      [0, 1, 2, 3, 4, 5],
    )
  }),
  it('skips an offset from the start of the chosen order (S3-39, S3-46, S3-82)', async ({ store }) => {
    const conversationId = await numbered(store, 6)
    assert.deepEqual(await list(store, { conversationId, offset: 0, limit: 2 }), ['5', '4'])
    assert.deepEqual(await list(store, { conversationId, offset: 2, limit: 2 }), ['3', '2'])
    assert.deepEqual(await list(store, { conversationId, offset: 5 }), ['0'])
    assert.deepEqual(await list(store, { conversationId, offset: 2, limit: 3, order: 'ascending' }), [
      '2',
      '3',
      '4',
    ])
    assert.deepEqual(await list(store, { conversationId, offset: 6 }), [])
    assert.deepEqual(await list(store, { conversationId, offset: 1_000 }), [])
  }),
  it('returns 100 messages by default (S4-35)', async ({ store }) => {
    const conversationId = await numbered(store, 103)
    const page = await store.listMessages({ conversationId })
    assert.deepEqual([page.items.length, page.items[0]?.seq, page.items[99]?.seq], [100, 102, 3])
    assert.deepEqual(await list(store, { conversationId, after: page.next! }), ['2', '1', '0'])
    assert.equal((await store.listMessages({ conversationId, limit: 103 })).next, null)
    assert.equal((await store.listMessages({ conversationId, limit: 103 })).items.length, 103)
    assert.deepEqual(await list(store, { conversationId, limit: 1 }), ['102'])
  }),
  it('pages through all messages in both orders (S3-46)', async ({ store }) => {
    const conversationId = await numbered(store, 7)
    const ascending = ['0', '1', '2', '3', '4', '5', '6']
    for (const limit of [1, 2, 3, 7, 8]) {
      const up = await pages(store, { conversationId, order: 'ascending', limit })
      assert.deepEqual(up.flat(), ascending, `limit ${limit}`)
      assert.equal(up.length, Math.ceil(7 / limit))
      const down = await pages(store, { conversationId, limit })
      assert.deepEqual(down.flat(), ascending.toReversed(), `limit ${limit}`)
    }
  }),
  it('continues pages at the same position while others append', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const conversationId = conversation.id
    let n = 0
    const more = () => appendTexts(store, branch, `new ${++n}`)
    const down = await pages(store, { conversationId, limit: 1 }, more)
    assert.deepEqual(down.flat(), ['three', 'two', 'one'])
    // In ascending order, appended messages come last. Two are appended, then no more.
    n = 0
    const up = await pages(store, { conversationId, order: 'ascending', limit: 2 }, async () => {
      if (n < 2) await appendTexts(store, branch, `late ${++n}`)
    })
    assert.deepEqual(up.flat(), ['one', 'two', 'three', 'new 1', 'new 2', 'late 1', 'late 2'])
  }),
  it('starts the first page at an offset and continues from there', async ({ store }) => {
    const conversationId = await numbered(store, 6)
    const { items, next } = await store.listMessages({ conversationId, offset: 2, limit: 2 })
    assert.deepEqual(texts(items), ['3', '2'])
    assert.deepEqual(await list(store, { conversationId, limit: 2, after: next! }), ['1', '0'])
  }),
  it('lists only the given roles (S3-47)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const result = { type: 'tool_result', callId: 'c', output: 'done' } as const
    const first = await store.append(branch, null, [
      say('q1'),
      say('a1', 'assistant'),
      { role: 'tool', content: [result] },
      say('rule', 'developer'),
    ])
    await store.append(branch, first.head, [say('q2')])
    const conversationId = conversation.id
    const seqs = async (options: Omit<ListMessages, 'conversationId'>) =>
      (await store.listMessages({ conversationId, ...options })).items.map(one => one.seq)
    assert.deepEqual(await seqs({ roles: ['user'] }), [4, 0])
    assert.deepEqual(await seqs({ roles: ['assistant', 'tool_result'] }), [2, 1])
    assert.deepEqual(await seqs({ roles: ['assistant', 'tool_result'], limit: 1 }), [2])
    assert.deepEqual(await seqs({ roles: ['system'], order: 'ascending' }), [3])
    assert.deepEqual(await seqs({ roles: ['user', 'assistant'], order: 'ascending', offset: 1 }), [1, 4])
    const page = await store.listMessages({ conversationId, roles: ['user', 'system'], limit: 2 })
    assert.deepEqual(
      page.items.map(one => one.seq),
      [4, 3],
    )
    assert.deepEqual(await seqs({ roles: ['user', 'system'], limit: 2, after: page.next! }), [0])
  }),
  it('lists the messages with a label, as currently set (S3-9, S3-32)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const label = 'subagent:code-review:a1b2c3d4'
    const { ids } = await store.append(branch, null, [
      { ...say('one'), label },
      say('two', 'assistant'),
      { ...say('three'), label: `${label}5` },
      { ...say('four', 'assistant'), label },
    ])
    const conversationId = conversation.id
    assert.deepEqual(await list(store, { conversationId, label }), ['four', 'one'])
    assert.deepEqual(await list(store, { conversationId, label, roles: ['user'] }), ['one'])
    assert.deepEqual(await list(store, { conversationId, label: 'subagent:%' }), [])
    assert.deepEqual(await list(store, { conversationId, label: label.toUpperCase() }), [])
    await store.setLabel(ids[0], null)
    await store.setLabel(ids[1]!, label)
    assert.deepEqual(await list(store, { conversationId, label, order: 'ascending' }), ['two', 'four'])
  }),
  it('lists nothing of an empty conversation and refuses a missing one (S1-48)', async ({ store }) => {
    const { conversation } = await store.create()
    const conversationId = conversation.id
    assert.deepEqual(await store.listMessages({ conversationId }), { items: [], next: null, skipped: [] })
    const missing = store.listMessages({ conversationId: noConversation })
    assert.equal((await rejects<NotFoundError>(missing, 'not_found')).kind, 'conversation')
    await rejects(store.listMessages({ conversationId: 'nonsense' as ConversationId }), 'invalid')
  }),
  it('refuses invalid limits, offsets, roles and cursors and names them', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const refused = async (field: string, options: object) => {
      const call = store.listMessages({ conversationId: conversation.id, ...options })
      const error = await rejects<InvalidError>(call, 'invalid')
      assert.ok(error.field.startsWith(field), `${error.field} for ${JSON.stringify(options)}`)
    }
    for (const limit of [0, -1, 1.5, Number.NaN]) await refused('limit', { limit })
    for (const offset of [-1, 0.5, Number.NaN]) await refused('offset', { offset })
    for (const after of ['', 'x', "' or 1=1 --", '💥', '\0', 'W10=', 'e30=', 'bnVsbA==']) {
      await refused('after', { after })
    }
    await refused('roles', { roles: ['robot'] })
    await refused('roles', { roles: 'user' })
  }),
]
