import { strict as assert } from 'node:assert'
import type { NotFoundError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import {
  appendTexts,
  casesOf,
  grow,
  noConversation,
  noMessage,
  rejects,
  say,
  startConversation,
  texts,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('reads')

export const readCases: readonly ContractCase[] = [
  it('returns messages in the order of the ids, as often as requested (S3-34, S3-81)', async ({ store }) => {
    const { ids } = await startConversation(store)
    const [one, two, three] = ids
    const messages = await store.getMessages([three, one, two, one])
    assert.deepEqual(texts(messages), ['three', 'one', 'two', 'one'])
    assert.deepEqual(
      messages.map(message => message.id),
      [three, one, two, one],
    )
    assert.deepEqual(await store.getMessages([]), [])
  }),
  it('returns messages of several conversations at once', async ({ store }) => {
    const a = await startConversation(store)
    const b = await startConversation(store)
    const messages = await store.getMessages([b.ids[0], a.ids[1], b.ids[2]])
    assert.deepEqual(
      messages.map(message => message.conversationId),
      [b.conversation.id, a.conversation.id, b.conversation.id],
    )
  }),
  it('sets id, parent, time and all other fields of each message (S0-23, S1-15, S1-22, S3-12, S3-22, S3-26, S3-27, S3-28, S3-44, S3-81)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch } = await store.create()
    const blocks = [{ type: 'text', text: 'hello' }] as const
    const call = { type: 'tool_call', callId: 'c1', name: 'read_file', input: { path: 'a.ts' } } as const
    const result = { type: 'tool_result', callId: 'c1', output: 'empty' } as const
    const made = await store.append(branch, null, [
      { role: 'user', content: blocks, tokens: 3 },
      { ...say('hi', 'assistant'), tokens: 4, label: 'greeting', metadata: { temperature: 0.7 } },
      { role: 'assistant', content: [call], tokens: 2 },
      { role: 'tool', content: [result], tokens: 1 },
    ])
    const common = {
      conversationId: conversation.id,
      createdAt: new Date(clock.now),
      turn: null,
      step: null,
      erased: null,
      blobs: [],
    }
    assert.deepEqual(await store.getMessages(made.ids), [
      {
        ...common,
        id: made.ids[0],
        parentId: null,
        seq: 0,
        depth: 0,
        role: 'user',
        content: blocks,
        plain: false,
        metadata: null,
        tokens: 3,
        pathTokens: 3,
        label: null,
      },
      {
        ...common,
        id: made.ids[1],
        parentId: made.ids[0],
        seq: 1,
        depth: 1,
        role: 'assistant',
        content: [{ type: 'text', text: 'hi' }],
        plain: true,
        metadata: { temperature: 0.7 },
        tokens: 4,
        pathTokens: 7,
        label: 'greeting',
      },
      {
        ...common,
        id: made.ids[2],
        parentId: made.ids[1],
        seq: 2,
        depth: 2,
        role: 'assistant',
        content: [call],
        plain: false,
        metadata: null,
        tokens: 2,
        pathTokens: 9,
        label: null,
      },
      {
        ...common,
        id: made.ids[3],
        parentId: made.ids[2],
        seq: 3,
        depth: 3,
        role: 'tool_result',
        content: [result],
        plain: false,
        metadata: null,
        tokens: 1,
        pathTokens: 10,
        label: null,
      },
    ])
  }),
  it('fails if any message is missing and names the first missing one (S3-44, S3-81)', async ({ store }) => {
    const { ids } = await startConversation(store)
    const missing = `${'y'.repeat(31)}2` as typeof noMessage
    for (const wanted of [[noMessage], [ids[0], noMessage, ids[1], missing], [noMessage, ids[2]]]) {
      const error = await rejects<NotFoundError>(store.getMessages(wanted), 'not_found')
      assert.deepEqual([error.kind, error.id], ['message', noMessage])
    }
  }),
  it('returns hundreds of messages in one call', async ({ store }) => {
    const { branch } = await store.create()
    const many = Array.from({ length: 1_200 }, (_, i) => say(`message ${i}`))
    const { ids } = await store.append(branch, null, many)
    const backwards = await store.getMessages([...ids].reverse())
    assert.deepEqual(
      backwards.map(message => message.seq),
      Array.from({ length: 1_200 }, (_, i) => 1_199 - i),
    )
  }),
  it('reads the path from the root to a message and nothing beyond it (S3-45, S3-84, S1-29, S0-26)', async ({
    store,
  }) => {
    const { branch, ids } = await startConversation(store)
    const { head } = await appendTexts(store, branch, 'four', 'five')
    const path = await pathOf(store, head)
    assert.deepEqual(texts(path), ['one', 'two', 'three', 'four', 'five'])
    assert.deepEqual(
      path.map(message => message.parentId),
      [null, ...path.slice(0, -1).map(message => message.id)],
    )
    assert.deepEqual(texts(await pathOf(store, ids[1])), ['one', 'two'])
    assert.deepEqual(texts(await pathOf(store, ids[0])), ['one'])
  }),
  it('reads a path through the narrowest port, by an id in text form (S3-45, S3-84)', async ({ store }) => {
    const { ids } = await startConversation(store)
    const path = await pathOf({ listPath: (...read) => store.listPath(...read) }, String(ids[1]))
    assert.deepEqual(path, await pathOf(store, ids[1]))
    const error = await rejects<NotFoundError>(pathOf(store, noMessage), 'not_found')
    assert.deepEqual([error.kind, error.id], ['message', noMessage])
    await rejects(pathOf(store, 'abc'), 'invalid')
  }),
  it('reads the same message by path, by tail and by id', async ({ store }) => {
    const { ids } = await startConversation(store)
    const path = await pathOf(store, ids[2])
    assert.deepEqual(await store.getMessages(ids), path)
    assert.deepEqual((await store.tail(ids[2], { messages: 10 })).messages, path)
  }),
  it('finds no path to a missing message (S3-84)', async ({ store }) => {
    await startConversation(store)
    for (const ask of [() => pathOf(store, noMessage), () => store.tail(noMessage, { tokens: 10 })]) {
      const error = await rejects<NotFoundError>(ask(), 'not_found')
      assert.deepEqual([error.kind, error.id], ['message', noMessage])
    }
  }),
  it('reads each path of a tree with nested forks and several roots (S3-2, S3-31, S3-45)', async ({
    store,
  }) => {
    const { conversation } = await store.create()
    const ids = await grow(store, conversation.id, {
      a: null,
      a1: 'a',
      b: null,
      a2: 'a',
      a11: 'a1',
      b1: 'b',
      a111: 'a11',
      a21: 'a2',
      a112: 'a11',
      b2: 'b',
      a1121: 'a112',
      c: null,
    })
    const pathTo = async (name: keyof typeof ids) => texts(await pathOf(store, ids[name]))
    assert.deepEqual(await pathTo('a1121'), ['a', 'a1', 'a11', 'a112', 'a1121'])
    assert.deepEqual(await pathTo('a111'), ['a', 'a1', 'a11', 'a111'])
    assert.deepEqual(await pathTo('a21'), ['a', 'a2', 'a21'])
    assert.deepEqual(await pathTo('b2'), ['b', 'b2'])
    assert.deepEqual(await pathTo('c'), ['c'])
  }),
  it('reads the paths of branches that were written alternately', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const names = ['left', 'right', 'middle']
    for (const name of names) await store.createBranch(conversation.id, ids[2], { name })
    for (let i = 0; i < 20; i++) {
      for (const name of names)
        await appendTexts(store, { conversationId: conversation.id, name }, `${name} ${i}`)
      await appendTexts(store, branch, `main ${i}`)
    }
    for (const name of [...names, 'main']) {
      const { head } = await store.getBranch({ conversationId: conversation.id, name })
      const expected = Array.from({ length: 20 }, (_, i) => `${name} ${i}`)
      assert.deepEqual(texts(await pathOf(store, head!)), ['one', 'two', 'three', ...expected])
    }
  }),
  it('returns no messages of an empty conversation (S1-48)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    assert.equal((await store.getBranch(branch)).head, null)
    assert.deepEqual(await collectPages(page => store.listStretches(conversation.id, page)), [])
    assert.deepEqual((await store.listMessages({ conversationId: conversation.id })).items, [])
    assert.deepEqual([conversation.messages, conversation.tokens], [0, 0])
  }),
  it('refuses a missing conversation', async ({ store }) => {
    await startConversation(store)
    for (const ask of [
      () => collectPages(page => store.listStretches(noConversation, page)),
      () => collectPages(page => store.listTurns(noConversation, page)),
      () => collectPages(page => store.readDraft(noConversation, 't1', page)),
      () => collectPages(page => store.listSummaries(noConversation, page)),
      () => store.findTurn(noConversation, 't1'),
      () =>
        collectPages(page => store.listAgentLinks({ conversationId: noConversation, name: 'main' }, page)),
      () => store.versionOf(noConversation),
      () => store.getBranch({ conversationId: noConversation, name: 'main' }),
    ]) {
      const error = await rejects<NotFoundError>(ask(), 'not_found')
      assert.deepEqual([error.kind, error.id], ['conversation', noConversation])
    }
  }),
  it('returns a copy to every reader, so that changing it changes nothing stored', async ({ store }) => {
    const { branch } = await store.create()
    const { ids } = await store.append(branch, null, [
      { role: 'assistant', content: [{ type: 'tool_call', callId: 'c', name: 'n', input: { list: [1] } }] },
    ])
    const [first] = await store.getMessages(ids)
    const block = first?.content[0] as unknown as { input: { list: number[] }; name: string }
    block.input.list.push(2)
    block.name = 'changed'
    const [again] = await pathOf(store, ids[0])
    assert.deepEqual(again?.content, [{ type: 'tool_call', callId: 'c', name: 'n', input: { list: [1] } }])
  }),
]
