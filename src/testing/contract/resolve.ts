import { strict as assert } from 'node:assert'
import { encodeBody } from '../../core/body.ts'
import type { AmbiguousIdError, InvalidError } from '../../core/errors.ts'
import { hashMessage } from '../../core/hash.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Resolved, Store } from '../../core/ports.ts'
import { appendTexts, casesOf, rejects, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('resolve')

const id = (text: string) => text as ConversationId

const one = id('abc123de-0000-4000-8000-000000000001')
const two = id('abc123df-0000-4000-8000-000000000002')

/** The conversation, branch and message that a text resolves to. */
const seen = ({ conversation, branch, message }: Resolved) => [conversation.id, branch.name, message]

/** Asserts that a text does not resolve: not found, or invalid. */
async function refused(store: Store, text: string): Promise<void> {
  const shown = JSON.stringify(text.slice(0, 40))
  const error = await store.resolve(text).then(
    found => assert.fail(`${shown} was read as ${seen(found)}`),
    (error: { readonly code?: string }) => error,
  )
  assert.ok(error.code === 'not_found' || error.code === 'invalid', `${shown}: ${error}`)
}

/** A time at which this text, as a root message, gets an id whose first six characters are also valid in a
 *  UUID. */
function timeOfHexLikeRoot(conversation: ConversationId, text: string): { at: Date; id: MessageId } {
  const { hash } = encodeBody(text, undefined)
  for (let time = 1_000_000; ; time++) {
    const message = hashMessage(conversation, 'user', time, hash)
    if (/^[a-f2-7]{6}/.test(message)) return { at: new Date(time), id: message }
  }
}

/** Two conversations and two messages whose ids begin with the same six characters. */
async function twins(
  store: Store,
): Promise<{ prefix: string; message: MessageId; conversation: ConversationId }> {
  const home = await store.create()
  const { at, id: message } = timeOfHexLikeRoot(home.conversation.id, 'twin')
  const { head } = await store.append(home.branch, null, [{ role: 'user', content: 'twin', createdAt: at }])
  assert.equal(head, message)
  const prefix = message.slice(0, 6)
  const { conversation } = await store.create({ id: id(`${prefix}00-0000-4000-8000-000000000000`) })
  return { prefix, message, conversation: conversation.id }
}

export const resolveCases: readonly ContractCase[] = [
  it('resolves a conversation id, whole or by prefix, in either case (S0-18, S1-5)', async ({ store }) => {
    await startConversation(store, { id: one })
    for (const text of [
      one,
      one.slice(0, 6),
      one.slice(0, 9),
      one.slice(0, 35),
      one.toUpperCase(),
      'ABC123',
    ]) {
      const found = await store.resolve(text)
      assert.deepEqual(seen(found), [one, 'main', null], text)
      assert.deepEqual(found.conversation, await store.getConversation(one))
      assert.deepEqual(found.branch, await store.getBranch(found.branch))
    }
  }),
  it('resolves a conversation id to the active branch', async ({ store }) => {
    const { ids } = await startConversation(store, { id: one })
    await store.activateBranch(await store.createBranch(one, ids[0], { name: 'side' }))
    const found = await store.resolve('abc123')
    assert.deepEqual([found.branch.name, found.branch.head], ['side', ids[0]])
  }),
  it('resolves a message id, whole or by prefix (S3-7)', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    await startConversation(store)
    for (const message of ids) {
      for (const text of [message, message.slice(0, 6), message.slice(0, 20)]) {
        assert.deepEqual(seen(await store.resolve(text)), [conversation.id, 'main', message], text)
      }
    }
  }),
  it('resolves a message of another branch to the active branch (S3-2)', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    const { head } = await appendTexts(store, side, 'aside')
    assert.deepEqual(seen(await store.resolve(head)), [conversation.id, 'main', head])
  }),
  it('resolves a key of any length before anything else (S0-14, S0-18)', async ({ store }) => {
    await store.create({ id: one })
    const key = await store.create({ key: 'abc123', title: 'by key' })
    assert.deepEqual(seen(await store.resolve('abc123')), [key.conversation.id, 'main', null])
    assert.deepEqual(seen(await store.resolve('abc123d')), [one, 'main', null])
    const short = await store.create({ key: 'k' })
    assert.deepEqual(seen(await store.resolve('k')), [short.conversation.id, 'main', null])
    const dm = await store.create({ key: 'discord:dm:42' })
    assert.deepEqual(seen(await store.resolve('discord:dm:42')), [dm.conversation.id, 'main', null])
    const thread = await store.createBranch(one, null, { name: 'thread', key: `${one}:main` })
    assert.deepEqual(seen(await store.resolve(`${one}:main`)), [one, thread.name, null])
  }),
  it('does not resolve the prefix of a key', async ({ store }) => {
    await store.create({ key: 'cli:default' })
    for (const text of ['cli:defaul', 'cli:default2', 'CLI:DEFAULT', 'cli:%']) {
      await refused(store, text)
    }
  }),
  it('resolves a branch name after the id of its conversation', async ({ store }) => {
    const { ids } = await startConversation(store, { id: one })
    await store.createBranch(one, ids[1], { name: 'side' })
    await store.createBranch(one, ids[0], { name: 'fix:the build' })
    for (const text of [`${one}:side`, 'abc123:side', 'ABC123:side', 'abc123de-0000:side']) {
      const found = await store.resolve(text)
      assert.deepEqual(seen(found), [one, 'side', null], text)
      assert.equal(found.branch.head, ids[1])
    }
    assert.deepEqual(seen(await store.resolve('abc123:fix:the build')), [one, 'fix:the build', null])
    assert.deepEqual(seen(await store.resolve('abc123:main')), [one, 'main', null])
    for (const text of ['abc123:nowhere', 'abc123:SIDE', `${two}:main`, 'abc124:main']) {
      await rejects(store.resolve(text), 'not_found')
    }
    for (const text of ['abc12:side', ':side', ':']) await refused(store, text)
  }),
  it('lists the candidates of an ambiguous prefix and resolves a longer one', async ({ store }) => {
    await store.create({ id: one })
    await store.create({ id: two })
    for (const text of ['abc123', 'abc123d']) {
      const error = await rejects<AmbiguousIdError>(store.resolve(text), 'ambiguous_id')
      assert.equal(error.prefix, text)
      assert.deepEqual(
        [...error.candidates].sort((a, b) => (a.id < b.id ? -1 : 1)),
        [
          { kind: 'conversation', id: one },
          { kind: 'conversation', id: two },
        ],
      )
    }
    await rejects(store.resolve('abc123:main'), 'ambiguous_id')
    assert.deepEqual(seen(await store.resolve('abc123de')), [one, 'main', null])
    assert.deepEqual(seen(await store.resolve('abc123df:main')), [two, 'main', null])
    await rejects(store.resolve('abc123dd'), 'not_found')
  }),
  it('lists candidates of both kinds (S3-7)', async ({ store }) => {
    const { prefix, message, conversation } = await twins(store)
    const error = await rejects<AmbiguousIdError>(store.resolve(prefix), 'ambiguous_id')
    assert.deepEqual(
      [...error.candidates].sort((a, b) => (a.kind < b.kind ? -1 : 1)),
      [
        { kind: 'conversation', id: conversation },
        { kind: 'message', id: message },
      ],
    )
    assert.deepEqual(seen(await store.resolve(`${prefix}00`)), [conversation, 'main', null])
    assert.equal((await store.resolve(message.slice(0, 12))).message, message)
  }),
  it('does not resolve a message id with a branch name', async ({ store }) => {
    const { prefix, message, conversation } = await twins(store)
    assert.deepEqual(seen(await store.resolve(`${prefix}:main`)), [conversation, 'main', null])
    await rejects(store.resolve(`${message}:main`), 'not_found')
  }),
  it('lists at most ten candidates', async ({ store }) => {
    for (let n = 0; n < 14; n++) {
      await store.create({ id: id(`abc123${n.toString(16).padStart(2, '0')}-0000-4000-8000-000000000000`) })
    }
    const error = await rejects<AmbiguousIdError>(store.resolve('abc123'), 'ambiguous_id')
    assert.equal(error.candidates.length, 10)
    assert.ok(error.candidates.every(one => one.kind === 'conversation' && one.id.startsWith('abc123')))
    assert.equal(new Set(error.candidates.map(one => one.id)).size, 10)
  }),
  it('requires at least six characters', async ({ store }) => {
    const { ids } = await startConversation(store, { id: one })
    for (const text of ['a', 'abc12', ids[0].slice(0, 5), '']) {
      const error = await rejects<InvalidError>(store.resolve(text), 'invalid')
      assert.equal(error.field, 'id', text)
    }
    await rejects(store.resolve('ffffff'), 'not_found')
    await rejects(store.resolve('zzzzzz'), 'not_found')
    await rejects(store.resolve('z'.repeat(32)), 'not_found')
  }),
  it('resolves the id of an expired conversation', async ({ store, clock }) => {
    const { ids } = await startConversation(store, { id: one, ttlMs: 1_000 })
    clock.now += 1_000_000
    assert.deepEqual(seen(await store.resolve('abc123')), [one, 'main', null])
    assert.deepEqual(seen(await store.resolve(ids[1])), [one, 'main', ids[1]])
  }),
  it('resists hostile text: patterns, quotes, control characters, length', async ({ store }) => {
    const { ids } = await startConversation(store, { id: one, key: 'cli:default' })
    const hostile = [
      '______',
      '%%%%%%',
      'abc12%',
      'abc12_',
      '******',
      '??????',
      'abc12?',
      'abc[1]23',
      '[a-z][a-z][a-z][a-z][a-z][a-z]',
      "abc123' or '1'='1",
      "'; drop table skein_message; --",
      'abc123\0',
      'abc123\ud800',
      '\u{10ffff}'.repeat(6),
      'abc123:%',
      'abc123:____',
      'abc123:',
      '%%%%%%:main',
      `${one}0`,
      `${ids[0]}a`,
      ids[0].slice(0, 6).toUpperCase().padEnd(7, '%'),
      'abc123'.repeat(20_000),
      '../../etc/passwd',
    ]
    for (const text of hostile) {
      await refused(store, text)
    }
    assert.deepEqual(seen(await store.resolve('abc123')), [one, 'main', null])
    assert.equal(await store.countConversations(), 1)
  }),
]
