import { strict as assert } from 'node:assert'
import type { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { NewMessage } from '../../core/message.ts'
import { pathOf } from '../../core/path.ts'
import type { SaveItem } from '../../core/ports.ts'
import {
  appendTexts,
  casesOf,
  holder,
  noConversation,
  noMessage,
  rejects,
  said,
  say,
  startConversation,
  texts,
  writers,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('save')
const root = (text: string): SaveItem => ({ message: say(text), parent: null })
const under = (parent: MessageId | number, text: string): SaveItem => ({
  message: say(text, 'assistant'),
  parent: typeof parent === 'number' ? { item: parent } : parent,
})

export const saveCases: readonly ContractCase[] = [
  it('saves a single root and moves no branch (S3-33, S3-38, S3-43, S3-72, S3-80)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch } = await store.create()
    const [id, ...others] = await store.save(conversation.id, [root('a root')])
    assert.equal(others.length, 0)
    const [message] = await store.getMessages([id])
    assert.deepEqual(
      [message?.parentId, message?.seq, message?.depth, message?.turn, message?.step, message?.role],
      [null, 0, 0, null, null, 'user'],
    )
    assert.equal(message?.createdAt.getTime(), clock.now)
    assert.equal((await store.getBranch(branch)).head, null)
  }),
  it('saves several roots in one call (S3-31)', async ({ store }) => {
    const { conversation } = await store.create()
    const ids = await store.save(conversation.id, [root('a'), root('b'), under(0, 'under a'), root('c')])
    const messages = await store.getMessages(ids)
    assert.deepEqual(
      messages.map(message => [message.parentId, message.seq, message.depth]),
      [
        [null, 0, 0],
        [null, 1, 0],
        [ids[0], 2, 1],
        [null, 3, 0],
      ],
    )
    assert.deepEqual(texts(await pathOf(store, ids[2]!)), ['a', 'under a'])
    assert.deepEqual(texts(await pathOf(store, ids[3]!)), ['c'])
  }),
  it('links items by their index in the call and returns the ids in order (S3-42, S3-80)', async ({
    store,
  }) => {
    const { conversation } = await store.create()
    const items = [root('0'), under(0, '1'), under(1, '2'), under(0, '3'), under(3, '4'), under(2, '5')]
    const ids = await store.save(conversation.id, items)
    assert.equal(new Set(ids).size, 6)
    assert.deepEqual(texts(await store.getMessages(ids)), ['0', '1', '2', '3', '4', '5'])
    assert.deepEqual(texts(await pathOf(store, ids[5]!)), ['0', '1', '2', '5'])
    assert.deepEqual(texts(await pathOf(store, ids[4]!)), ['0', '3', '4'])
  }),
  it('saves under stored messages anywhere in the tree, with depth and path sum (S3-2, S3-31)', async ({
    store,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const saved = await store.save(conversation.id, [
      { message: { ...say('under one'), tokens: 5 }, parent: ids[0] },
      { message: { ...say('under two'), tokens: 6 }, parent: ids[1] },
      { message: { ...say('under the first'), tokens: 7 }, parent: { item: 0 } },
    ])
    const [one, two] = await store.getMessages(ids)
    const messages = await store.getMessages(saved)
    assert.deepEqual(
      messages.map(message => [message.parentId, message.seq, message.depth, message.pathTokens]),
      [
        [ids[0], 3, 1, one!.pathTokens + 5],
        [ids[1], 4, 2, two!.pathTokens + 6],
        [saved[0], 5, 2, one!.pathTokens + 12],
      ],
    )
    assert.equal((await store.getBranch(branch)).head, ids[2])
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
  }),
  it('counts saved messages, increments the version and moves updatedAt', async ({ store, clock }) => {
    const { conversation } = await startConversation(store)
    clock.now += 1_000
    const counted = (text: string): NewMessage => ({ ...say(text), tokens: 10 })
    await store.save(conversation.id, [
      { message: counted('a'), parent: null },
      { message: counted('b'), parent: { item: 0 } },
    ])
    const after = await store.getConversation(conversation.id)
    assert.deepEqual(
      [after.messages, after.tokens - conversation.tokens, after.updatedAt.getTime()],
      [5, 20, clock.now],
    )
    assert.ok(after.version > conversation.version)
  }),
  it('assigns seqs from the same counter as append (S1-14, S1-49)', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const saved = await store.save(conversation.id, [root('saved'), under(0, 'and more')])
    const appended = await appendTexts(store, branch, 'appended')
    const again = await store.save(conversation.id, [under(saved[1]!, 'again')])
    const messages = await store.getMessages([...saved, ...appended.ids, ...again])
    assert.deepEqual(
      messages.map(message => message.seq),
      [3, 4, 5, 6],
    )
  }),
  it('keeps labels, blocks, metadata and times unchanged (S3-80, S3-32)', async ({ store }) => {
    const { conversation } = await store.create()
    const message: NewMessage = {
      role: 'tool',
      content: [{ type: 'tool_result', callId: 'call-1', output: { ok: false }, isError: true }],
      metadata: { run: 7 },
      createdAt: new Date('2020-02-02T02:02:02.002Z'),
      label: 'subagent:code-review:a1b2c3d4',
    }
    const [id] = await store.save(conversation.id, [{ message, parent: null }])
    const [stored] = await store.getMessages([id])
    assert.equal(stored?.role, 'tool_result')
    assert.deepEqual([stored?.content, stored?.metadata, stored?.plain], [message.content, { run: 7 }, false])
    assert.equal(stored?.label, 'subagent:code-review:a1b2c3d4')
    assert.equal(stored?.createdAt.toISOString(), '2020-02-02T02:02:02.002Z')
  }),
  it('saves a subagent trace: the question, then the answers in a chain, all with one label (S3-75)', async ({
    store,
  }) => {
    const { conversation } = await store.create({ kind: 'subagent' })
    const label = 'subagent:reviewer:run-1'
    const labelled = (message: NewMessage, parent: SaveItem['parent']): SaveItem => ({
      message: { ...message, label },
      parent,
    })
    const ids = await store.save(conversation.id, [
      labelled(say('review this'), null),
      labelled(say('reading', 'assistant'), { item: 0 }),
      labelled(say('looks good', 'assistant'), { item: 1 }),
    ])
    const path = await pathOf(store, ids[2]!)
    assert.deepEqual(texts(path), ['review this', 'reading', 'looks good'])
    assert.ok(path.every(message => message.label === label))
  }),
  it('stores equal messages under one parent as two messages (S2-65)', async ({ store, clock }) => {
    const { conversation } = await store.create()
    const twice = await store.save(conversation.id, [
      root('same'),
      root('same'),
      under(0, 'x'),
      under(0, 'x'),
    ])
    assert.equal(new Set(twice).size, 4)
    const [again] = await store.save(conversation.id, [root('same')])
    const messages = await store.getMessages([twice[0], twice[1]!, again])
    assert.deepEqual(
      messages.map(message => message.createdAt.getTime() - clock.now),
      [0, 1, 2],
    )
    assert.equal((await store.getConversation(conversation.id)).messages, 5)
  }),
  it('stores many equal messages under one parent, each at its own millisecond (S2-65, R11)', async ({
    store,
    clock,
  }) => {
    const { conversation } = await store.create()
    const many = Array.from({ length: 30 }, () => root('same'))
    const ids = [...(await store.save(conversation.id, many)), ...(await store.save(conversation.id, many))]
    const messages = await store.getMessages(ids)
    assert.deepEqual(
      messages.map(message => message.createdAt.getTime() - clock.now),
      Array.from({ length: 60 }, (_, i) => i),
    )
    // Times freed by a deletion may stay unused, but no time is used twice.
    await store.deleteMessages([ids[20]!])
    const [again] = await store.save(conversation.id, [root('same')])
    assert.equal((await store.getMessages([again, ...ids.toSpliced(20, 1)])).length, 60)
    assert.equal((await store.getConversation(conversation.id)).messages, 60)
  }),
  it('takes the title from the first user message, once (C21)', async ({ store }) => {
    const { conversation } = await store.create()
    assert.equal(conversation.title, null)
    await store.save(conversation.id, [{ message: say('hello', 'assistant'), parent: null }])
    assert.equal((await store.getConversation(conversation.id)).title, null)
    await store.save(conversation.id, [root('  why is the\n build red? '), root('something else')])
    assert.equal((await store.getConversation(conversation.id)).title, 'why is the build red?')
    await store.save(conversation.id, [root('another question')])
    assert.equal((await store.getConversation(conversation.id)).title, 'why is the build red?')
  }),
  it('saves nothing if one parent is missing (S3-41, S3-80)', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const items = [root('good'), under(0, 'good too'), under(noMessage, 'bad'), under(ids[0], 'good')]
    const error = await rejects<NotFoundError>(store.save(conversation.id, items), 'not_found')
    assert.deepEqual([error.kind, error.id], ['message', noMessage])
    assert.deepEqual(await store.getConversation(conversation.id), conversation)
    const [id] = await store.save(conversation.id, [root('next')])
    assert.equal((await store.getMessages([id]))[0]?.seq, 3)
  }),
  it('refuses a parent in another conversation as missing (S2-62)', async ({ store }) => {
    const a = await startConversation(store)
    const b = await startConversation(store)
    const items = [root('good'), under(a.ids[1], 'astray')] as const
    const error = await rejects<NotFoundError>(store.save(b.conversation.id, items), 'not_found')
    assert.deepEqual([error.kind, error.id], ['message', a.ids[1]])
    assert.deepEqual(await store.getConversation(a.conversation.id), a.conversation)
    assert.deepEqual(await store.getConversation(b.conversation.id), b.conversation)
  }),
  it('refuses an item whose parent is itself, a later item or outside the call', async ({ store }) => {
    const { conversation } = await startConversation(store)
    for (const item of [1, 2, 3, -1, 0.5, Number.NaN]) {
      const items = [root('good'), under(item, 'bad'), root('good')] as const
      const error = await rejects<InvalidError>(store.save(conversation.id, items), 'invalid')
      assert.match(error.field, /\[1\]\.parent/)
    }
    assert.deepEqual(await store.getConversation(conversation.id), conversation)
  }),
  it('refuses a missing or trashed conversation (S1-50)', async ({ store }) => {
    const gone = await rejects<NotFoundError>(store.save(noConversation, [root('x')]), 'not_found')
    assert.deepEqual([gone.kind, gone.trashed], ['conversation', false])
    const { conversation } = await startConversation(store)
    await store.trash(conversation.id)
    const error = await rejects<NotFoundError>(store.save(conversation.id, [root('x')]), 'not_found')
    assert.deepEqual([error.kind, error.trashed], ['conversation', true])
    assert.equal((await store.getConversation(conversation.id)).messages, 3)
  }),
  it('saves during an open turn, which holds only its branch', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const turn = { key: 't1', step: 0, status: 'open', holder: holder() } as const
    const { head } = await store.append(branch, ids[2], [say('question')], { turn })
    const [id] = await store.save(conversation.id, [under(ids[2], 'beside')])
    assert.deepEqual(texts(await pathOf(store, id)), ['one', 'two', 'three', 'beside'])
    assert.equal((await store.getBranch(branch)).head, head)
    assert.equal((await store.getMessages([id]))[0]?.turn, null)
  }),
  it(
    'keeps all messages of many concurrent callers, without gaps (S1-40, S1-49, S3-77)',
    async world => {
      const all = await writers(world)
      const { conversation, ids } = await startConversation(world.store)
      const saved = await Promise.all(
        all.flatMap((store, i) => [
          store.save(conversation.id, [root(`root ${i}`), under(0, `answer ${i}`)]),
          store.save(conversation.id, [under(ids[1], `beside ${i}`)]),
        ]),
      )
      const messages = await world.store.getMessages(saved.flat())
      assert.deepEqual(
        messages.map(message => message.seq).sort((a, b) => a - b),
        Array.from({ length: 24 }, (_, i) => i + 3),
      )
      assert.equal((await world.store.getConversation(conversation.id)).messages, 27)
    },
    'second handle',
  ),
]
