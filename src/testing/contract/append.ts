import { strict as assert } from 'node:assert'
import { encodeBody } from '../../core/body.ts'
import type { ConflictError, NotFoundError } from '../../core/errors.ts'
import { hashMessage, sha256Hex } from '../../core/hash.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { contentOf, type NewMessage, textOf } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { Store } from '../../core/ports.ts'
import {
  appendTexts,
  casesOf,
  noConversation,
  noMessage,
  rejects,
  said,
  say,
  startConversation,
  texts,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('append')

/** The state that a failed append must not change. */
async function stateOf(store: Store, id: ConversationId) {
  const { version, messages, tokens, updatedAt } = await store.getConversation(id)
  const branches = (await collectPages(page => store.listBranches(id, page))).map(branch => [
    branch.name,
    branch.head,
  ])
  return { version, messages, tokens, updatedAt, branches }
}

export const appendCases: readonly ContractCase[] = [
  it('appends to an empty branch and returns the ids in order (S1-28, S1-45, S3-80)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    assert.equal(branch.head, null)
    const appended = await store.append(branch, null, [say('one'), say('two', 'assistant'), say('three')])
    assert.equal(appended.outcome, 'appended')
    assert.deepEqual(appended.branch, { conversationId: conversation.id, name: 'main' })
    assert.equal(appended.ids.length, 3)
    assert.equal(appended.head, appended.ids[2])
    assert.equal((await store.getBranch(branch)).head, appended.head)
    const messages = await store.getMessages(appended.ids)
    assert.deepEqual(texts(messages), ['one', 'two', 'three'])
    assert.deepEqual(
      messages.map(message => [message.role, message.seq, message.parentId, message.depth]),
      [
        ['user', 0, null, 0],
        ['assistant', 1, appended.ids[0], 1],
        ['user', 2, appended.ids[1], 2],
      ],
    )
  }),
  it('appends at the head and moves no other branch (S1-32, S3-2)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    const { head } = await appendTexts(store, side, 'beside')
    assert.deepEqual(await said(store, side), ['one', 'beside'])
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    assert.equal((await store.getBranch(branch)).head, ids[2])
    assert.equal((await store.getBranch(side)).head, head)
  }),
  it('counts seq from 0 without gaps over all branches (S1-14, S1-18, S1-28, S1-49)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    const later: MessageId[] = []
    for (let i = 0; i < 5; i++) {
      later.push(...(await appendTexts(store, side, `side ${i}`)).ids)
      later.push(...(await appendTexts(store, branch, `main ${i}`, `answer ${i}`)).ids)
    }
    const all = await store.getMessages([...ids, ...later])
    assert.deepEqual(
      all.map(message => message.seq),
      Array.from({ length: 18 }, (_, i) => i),
    )
    const other = await startConversation(store)
    assert.equal((await store.getMessages([other.ids[0]]))[0]?.seq, 0)
  }),
  it('sets the depth of each message and the token sum of its path', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const counted = (text: string, tokens: number): NewMessage => ({ ...say(text), tokens })
    const main = await store.append(branch, null, [counted('a', 10), counted('b', 0), counted('c', 7)])
    const side = await store.createBranch(conversation.id, main.ids[0], { name: 'side' })
    const beside = await store.append(side, main.ids[0], [counted('d', 100)])
    const more = await store.append(branch, main.head, [counted('e', 1)])
    const messages = await store.getMessages([...main.ids, ...beside.ids, ...more.ids])
    assert.deepEqual(
      messages.map(message => [textOf(message), message.tokens, message.depth, message.pathTokens]),
      [
        ['a', 10, 0, 10],
        ['b', 0, 1, 10],
        ['c', 7, 2, 17],
        ['d', 100, 1, 110],
        ['e', 1, 3, 18],
      ],
    )
    const { tokens, messages: count } = await store.getConversation(conversation.id)
    assert.deepEqual([count, tokens], [5, 118])
  }),
  it('estimates tokens as characters / 4, rounded up, if the caller gives none (S2-40)', async ({
    store,
  }) => {
    const { conversation, branch } = await store.create()
    const { ids } = await store.append(branch, null, [say('12345'), say(''), say('x'.repeat(400))])
    const messages = await store.getMessages(ids)
    assert.deepEqual(
      messages.map(message => message.tokens),
      [2, 0, 100],
    )
    const { tokens, tokensUsed, cost } = await store.getConversation(conversation.id)
    assert.deepEqual([tokens, tokensUsed, cost], [102, 0, 0])
  }),
  it('increments the version and moves updatedAt with the messages (S0-35, S0-37, S1-33)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    clock.now += 5_000
    await appendTexts(store, branch, 'four')
    const after = await store.getConversation(conversation.id)
    assert.ok(after.version > conversation.version)
    assert.equal(await store.versionOf(conversation.id), after.version)
    assert.equal(after.updatedAt.getTime(), clock.now)
    assert.equal(after.createdAt.getTime(), clock.now - 5_000)
    assert.equal((await store.getBranch(branch)).updatedAt.getTime(), clock.now)
    assert.equal((await store.getMessages([ids[2]]))[0]?.createdAt.getTime(), clock.now - 5_000)
  }),
  it('keeps the order by seq and never moves updatedAt back when the clock does (S1-18, R9)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch } = await startConversation(store)
    const before = clock.now
    clock.now -= 3_600_000
    const { head } = await appendTexts(store, branch, 'an hour earlier')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'an hour earlier'])
    assert.equal((await store.getMessages([head]))[0]?.createdAt.getTime(), before - 3_600_000)
    assert.equal((await store.getConversation(conversation.id)).updatedAt.getTime(), before)
  }),
  it("accepts the caller's times and still orders by seq", async ({ store, clock }) => {
    const { branch } = await store.create()
    const at = (time: number): NewMessage => ({ ...say(`at ${time}`), createdAt: new Date(time) })
    const { ids } = await store.append(branch, null, [at(2_000), at(0), at(253_402_300_799_999)])
    const messages = await pathOf(store, ids[2]!)
    assert.deepEqual(
      messages.map(message => [message.seq, message.createdAt.getTime()]),
      [
        [0, 2_000],
        [1, 0],
        [2, 253_402_300_799_999],
      ],
    )
    const { head } = await appendTexts(store, branch, 'now')
    assert.equal((await store.getMessages([head]))[0]?.createdAt.getTime(), clock.now)
  }),
  it('computes the id from parent, role, time and body, and keeps the order of blocks (S3-43)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch } = await store.create()
    const meta = { source: 'test' }
    const blocks = [
      { type: 'tool_result', callId: 'c1', output: 'ok' },
      { type: 'text', text: 'after the result' },
      { type: 'text', text: 'after the text' },
    ] as const
    const { ids } = await store.append(branch, null, [
      { ...say('a root'), label: 'outside the hash', tokens: 9 },
      { role: 'tool', content: blocks, metadata: meta },
    ])
    const first = hashMessage(conversation.id, 'user', clock.now, sha256Hex('{"blocks":"a root"}'))
    assert.equal(ids[0], first)
    const body = encodeBody(blocks, meta)
    assert.equal(ids[1], hashMessage(first, 'tool_result', clock.now, body.hash))
    assert.deepEqual((await store.getMessages([ids[1]!]))[0]?.content, blocks)
  }),
  it('stores equal messages twice, the second one a millisecond later (S2-65)', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const words = 'Continue investigation'
    const made: MessageId[] = [(await appendTexts(store, branch, words)).head]
    for (const name of ['second', 'third']) {
      const beside = await store.createBranch(conversation.id, ids[2], { name })
      made.push((await appendTexts(store, beside, words)).head)
    }
    made.push((await appendTexts(store, branch, words)).head)
    assert.equal(new Set(made).size, 4)
    const messages = await store.getMessages(made)
    assert.deepEqual(texts(messages), [words, words, words, words])
    assert.deepEqual(
      messages.map(message => [message.parentId, message.createdAt.getTime() - clock.now]),
      [
        [ids[2], 0],
        [ids[2], 1],
        [ids[2], 2],
        [made[0], 0],
      ],
    )
  }),
  it('reads tool as tool_result and developer as system, and stores a later system message (S3-10)', async ({
    store,
  }) => {
    const { branch } = await store.create()
    const roles = ['user', 'assistant', 'tool_result', 'tool', 'system', 'developer'] as const
    const said = roles.map(role => say(role, role))
    const messages = await pathOf(store, (await store.append(branch, null, said)).head)
    assert.deepEqual(
      messages.map(message => message.role),
      ['user', 'assistant', 'tool_result', 'tool_result', 'system', 'system'],
    )
  }),
  it('keeps the history of a work item with its system messages, owners and expiry (S2-3, S2-7, S2-11)', async ({
    store,
    clock,
  }) => {
    const fields = {
      task: 'bead-1',
      project: 'loom',
      metadata: { agent_id: 'agent-1', provider_id: 'anthropic' },
      expiresAt: new Date(clock.now + 86_400_000),
    }
    const { conversation, branch } = await store.create(fields)
    const system = { ...say('You are a careful engineer.', 'system'), tokens: 7 }
    const { head } = await store.append(branch, null, [system, say('Why is it slow?')])
    clock.now += 1_000
    const answered = await store.append(branch, head, [say('A leak.', 'assistant')])
    const messages = await pathOf(store, answered.head)
    assert.deepEqual(
      messages.map(message => [
        message.role,
        contentOf(message),
        message.createdAt.getTime(),
        message.tokens,
      ]),
      [
        ['system', 'You are a careful engineer.', clock.now - 1_000, 7],
        ['user', 'Why is it slow?', clock.now - 1_000, 4],
        ['assistant', 'A leak.', clock.now, 2],
      ],
    )
    const { task, project, metadata, expiresAt } = await store.getConversation(conversation.id)
    assert.deepEqual({ task, project, metadata, expiresAt }, fields)
  }),
  it('keeps the order of many messages in one append', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const many = Array.from({ length: 300 }, (_, i) => say(`message ${i}`))
    const { ids, head } = await store.append(branch, null, many)
    const path = await pathOf(store, head)
    assert.deepEqual(
      path.map(message => message.id),
      ids,
    )
    assert.deepEqual(
      texts(path),
      many.map(message => message.content),
    )
    assert.equal((await store.getConversation(conversation.id)).messages, 300)
  }),
  it('writes no message if the second one is invalid (S0-36, S0-37, S3-41, S3-80)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const before = await stateOf(store, conversation.id)
    clock.now += 1_000
    const bad = { role: 'user', content: [{ type: 'text', text: 7 }] } as unknown as NewMessage
    await rejects(store.append(branch, ids[2], [say('four'), bad, say('five')]), 'invalid')
    assert.deepEqual(await stateOf(store, conversation.id), before)
    const { head } = await appendTexts(store, branch, 'four')
    assert.equal((await store.getMessages([head]))[0]?.seq, 3)
  }),
  it('refuses a head that has moved, names both heads and writes nothing (S3-77, R8)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const before = await stateOf(store, conversation.id)
    clock.now += 1_000
    for (const expected of [ids[1], null, noMessage]) {
      const error = await rejects<ConflictError>(store.append(branch, expected, [say('late')]), 'conflict')
      assert.deepEqual([error.branch, error.expected, error.actual], ['main', expected, ids[2]])
    }
    assert.deepEqual(await stateOf(store, conversation.id), before)
  }),
  it('refuses an expected head on an empty branch, even one of another conversation', async ({ store }) => {
    const other = await startConversation(store)
    const { conversation, branch } = await store.create()
    const error = await rejects<ConflictError>(store.append(branch, other.ids[2], [say('x')]), 'conflict')
    assert.deepEqual([error.expected, error.actual], [other.ids[2], null])
    assert.equal((await store.getConversation(conversation.id)).messages, 0)
  }),
  it('refuses a missing conversation (S1-50)', async ({ store }) => {
    const ref = { conversationId: noConversation, name: 'main' }
    const error = await rejects<NotFoundError>(store.append(ref, null, [say('x')]), 'not_found')
    assert.deepEqual([error.kind, error.id, error.trashed], ['conversation', noConversation, false])
    await rejects(store.getConversation(noConversation), 'not_found')
  }),
  it('refuses a missing branch', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const before = await stateOf(store, conversation.id)
    const ref = { conversationId: conversation.id, name: 'nowhere' }
    const error = await rejects<NotFoundError>(store.append(ref, ids[2], [say('x')]), 'not_found')
    assert.deepEqual([error.kind, error.id], ['branch', 'nowhere'])
    assert.deepEqual(await stateOf(store, conversation.id), before)
  }),
  it('refuses a trashed conversation before it checks the head, and says so', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.trash(conversation.id)
    for (const head of [ids[2], ids[0]]) {
      const error = await rejects<NotFoundError>(store.append(branch, head, [say('x')]), 'not_found')
      assert.deepEqual([error.kind, error.trashed], ['conversation', true])
    }
    assert.equal((await store.getConversation(conversation.id)).messages, 3)
    await store.restore(conversation.id)
    await appendTexts(store, branch, 'back')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'back'])
  }),
  it('stores the label of a message (S3-80)', async ({ store }) => {
    const { branch } = await store.create()
    const label = 'subagent:code-review:a1b2c3d4'
    const { ids } = await store.append(branch, null, [say('plain'), { ...say('labelled'), label }])
    const labels = (await store.getMessages(ids)).map(message => message.label)
    assert.deepEqual(labels, [null, label])
  }),
]
