import { strict as assert } from 'node:assert'
import type { ConversationPatch, NewConversation } from '../../core/conversation.ts'
import type { InvalidError, KeyReusedError, NotFoundError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import { type ConversationId, conversationId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { collectPages } from '../../core/pages.ts'
import { appendTexts, casesOf, noConversation, rejects, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('conversations')
const later = 60_000

const ownId = 'c0ffee00-1234-4abc-8def-0123456789ab' as ConversationId

/** Text that has broken stores: quotes, wildcards, line ends, both directions, joined emoji. */
const hostile = `it's "100%" _\\ \r\n\t عربى 👨‍👩‍👧‍👦 e\u0301 \u2028 -- ; drop table`

/** Valid JSON that has broken databases. */
const oddMetadata: JsonObject = {
  agent_id: 'a-1',
  nul: 'a\u0000b',
  lone: '\ud800',
  'dotted.key': hostile,
  'quo"ted\'': 1,
  '': 'empty key',
  deep: { list: [1, 'two', null, { three: false }], empty: {}, none: [] },
  large: 9_007_199_254_740_991,
  small: -1.5e-9,
}

/** Every field that a caller may set, without default values. */
const full = {
  id: ownId,
  key: 'cli:all-fields',
  kind: 'subagent',
  title: 'Why is the build red?',
  model: 'claude-9',
  label: 'subagent:code-review:a1b2c3d4',
  promptPolicy: 'stored',
  prompt: 'You are terse.\n',
  toolResults: { truncate: 4_096 },
  metadata: oddMetadata,
  tags: ['ci', 'urgent'],
  channel: 'discord',
  directory: '/home/me/project',
  project: 'p-1',
  task: 'bead-7',
  owner: 'claude-code',
  createdAt: new Date('2025-11-30T12:00:00.123Z'),
  expiresAt: new Date('2026-02-01T00:00:00.000Z'),
  ttlMs: 86_400_000,
} satisfies NewConversation

/** Each field of a patch, with its input and the expected value. Tags are a set: sorted, without
 *  duplicates. */
const patches: readonly [keyof ConversationPatch, unknown, unknown][] = [
  ['title', 'New title', 'New title'],
  ['title', hostile, hostile],
  ['title', null, null],
  ['model', 'gpt-9', 'gpt-9'],
  ['model', null, null],
  ['label', 'topic', 'topic'],
  ['label', null, null],
  ['promptPolicy', 'stored', 'stored'],
  ['promptPolicy', 'rebuild', 'rebuild'],
  ['prompt', 'Be kind.', { hash: sha256Hex('Be kind.'), text: 'Be kind.' }],
  ['prompt', '', { hash: sha256Hex(''), text: '' }],
  ['prompt', null, null],
  ['toolResults', 'metadata', 'metadata'],
  ['toolResults', { truncate: 1 }, { truncate: 1 }],
  ['toolResults', 'full', 'full'],
  ['metadata', { one: 1 }, { one: 1 }],
  ['metadata', {}, {}],
  ['tags', ['b', 'é', 'a', 'b', 'B'], ['B', 'a', 'b', 'é']],
  ['tags', [], []],
  ['channel', 'cli', 'cli'],
  ['channel', null, null],
  ['directory', '/tmp', '/tmp'],
  ['directory', null, null],
  ['project', 'p-2', 'p-2'],
  ['project', null, null],
  ['task', 'bead-8', 'bead-8'],
  ['task', null, null],
  ['owner', 'codex', 'codex'],
  ['owner', null, null],
  ['ttlMs', 1_000, 1_000],
  ['ttlMs', null, null],
  ['expiresAt', new Date('2030-01-01T00:00:00.001Z'), new Date('2030-01-01T00:00:00.001Z')],
  ['expiresAt', null, null],
]

export const conversationCases: readonly ContractCase[] = [
  it('creates an empty conversation with the branch main and default fields (S1-5, S1-23, S1-41, S1-48, S2-13)', async ({
    store,
    clock,
  }) => {
    const now = new Date(clock.now)
    const { conversation, branch } = await store.create()
    assert.deepEqual(conversation, {
      id: conversationId(conversation.id),
      kind: 'main',
      title: null,
      model: null,
      label: null,
      parent: null,
      promptPolicy: 'rebuild',
      prompt: null,
      toolResults: 'full',
      metadata: {},
      tags: [],
      activeBranch: 'main',
      messages: 0,
      tokens: 0,
      tokensUsed: 0,
      cost: 0,
      version: conversation.version,
      createdAt: now,
      updatedAt: now,
      expiresAt: null,
      ttlMs: null,
      trashedAt: null,
      channel: null,
      directory: null,
      project: null,
      task: null,
      owner: null,
    })
    assert.deepEqual(branch, {
      conversationId: conversation.id,
      name: 'main',
      head: null,
      key: null,
      formerKey: null,
      title: null,
      createdAt: now,
      updatedAt: now,
    })
    assert.deepEqual(await store.getConversation(conversation.id), conversation)
    assert.deepEqual(await store.getBranch(branch), branch)
    assert.deepEqual((await store.listMessages({ conversationId: conversation.id })).items, [])
  }),
  it('gives each conversation its own id (S1-5, S2-4)', async ({ store }) => {
    const made = await Promise.all([store.create(), store.create(), store.create()])
    assert.equal(new Set(made.map(place => place.conversation.id)).size, 3)
    assert.equal(await store.countConversations(), 3)
  }),
  it('returns every field that was given (S0-21, S1-3, S1-6, S1-7, S1-8, S1-9, S1-10, S2-5, S2-6, S2-8, S2-10, S2-13, S3-32)', async ({
    store,
  }) => {
    const { conversation: caller, ids } = await startConversation(store)
    const parent = { conversationId: caller.id, messageId: ids[1] }
    const { conversation, branch } = await store.create({ ...full, parent })
    const { key, prompt, ...fields } = full
    const { messages, tokens, tokensUsed, cost, version, updatedAt, trashedAt, activeBranch, ...read } =
      await store.getConversation(ownId)
    assert.deepEqual(read, { ...fields, parent, prompt: { hash: sha256Hex(prompt), text: prompt } })
    assert.deepEqual(
      [messages, tokens, tokensUsed, cost, trashedAt, activeBranch],
      [0, 0, 0, 0, null, 'main'],
    )
    assert.ok(version >= 0 && updatedAt instanceof Date)
    assert.deepEqual(conversation, await store.getConversation(ownId))
    assert.equal(branch.key, key)
    assert.deepEqual(await store.getBranch(branch), branch)
  }),
  it(
    'shows the writes of one handle to another',
    async ({ store, second }) => {
      const other = await second()
      const { conversation } = await store.create(full)
      assert.deepEqual(await other.getConversation(ownId), conversation)
      await other.updateConversation(ownId, { title: 'from the other' })
      assert.equal((await store.getConversation(ownId)).title, 'from the other')
    },
    'second handle',
  ),
  it('keeps a parent without a message (S3-4)', async ({ store }) => {
    const { conversation } = await store.create()
    const parent = { conversationId: conversation.id, messageId: null }
    const run = await store.create({ kind: 'subagent', parent })
    assert.deepEqual((await store.getConversation(run.conversation.id)).parent, parent)
  }),
  it('stores one prompt for many conversations and returns the right one to each (S1-9)', async ({
    store,
  }) => {
    const one = await store.create({ prompt: 'shared' })
    const two = await store.create({ prompt: 'shared' })
    await store.updateConversation(one.conversation.id, { prompt: 'my own' })
    assert.equal((await store.getConversation(one.conversation.id)).prompt?.text, 'my own')
    assert.deepEqual((await store.getConversation(two.conversation.id)).prompt, two.conversation.prompt)
    assert.equal(two.conversation.prompt?.text, 'shared')
    await store.updateConversation(two.conversation.id, { prompt: null })
    assert.equal((await store.create({ prompt: 'shared' })).conversation.prompt?.text, 'shared')
  }),
  it('refuses a taken id and keeps the first conversation unchanged', async ({ store }) => {
    const { conversation } = await store.create({ id: ownId, title: 'first' })
    const error = await rejects<KeyReusedError>(store.create({ id: ownId, title: 'second' }), 'key_reused')
    assert.equal(error.key, ownId)
    assert.deepEqual(await store.getConversation(ownId), conversation)
    assert.equal(await store.countConversations(), 1)
  }),
  it('refuses ids that are not UUIDs and names missing conversations', async ({ store }) => {
    for (const id of ['', 'cli:default', `${ownId}0`, '1', "' or 1=1 --"] as ConversationId[]) {
      await rejects(store.create({ id }), 'invalid')
      await rejects(store.getConversation(id), 'invalid')
      await rejects(store.versionOf(id), 'invalid')
      await rejects(store.updateConversation(id, { title: 'x' }), 'invalid')
    }
    const missing: Promise<unknown>[] = [
      store.getConversation(noConversation),
      store.versionOf(noConversation),
      collectPages(page => store.listBranches(noConversation, page)),
      store.updateConversation(noConversation, { title: 'x' }),
    ]
    const errors = await Promise.all(missing.map(call => rejects<NotFoundError>(call, 'not_found')))
    for (const error of errors) {
      assert.deepEqual([error.kind, error.id, error.trashed], ['conversation', noConversation, false])
    }
    assert.equal(await store.countConversations(), 0)
  }),
  it('keeps hostile text in every text field (S2-10)', async ({ store }) => {
    const fields = { title: hostile, model: hostile, label: hostile, channel: hostile, directory: hostile }
    const links = { project: hostile, task: hostile, owner: hostile, tags: [hostile] }
    const { conversation } = await store.create({ ...fields, ...links, prompt: hostile, key: hostile })
    const read = await store.getConversation(conversation.id)
    for (const [field, value] of Object.entries({ ...fields, ...links })) {
      assert.deepEqual(read[field as 'title'], value, field)
    }
    assert.deepEqual(read.prompt, { hash: sha256Hex(hostile), text: hostile })
    assert.equal((await store.findByKey(hostile))?.conversation.id, conversation.id)
    assert.equal((await store.findByTask(hostile, hostile))?.conversation.id, conversation.id)
  }),
  it('accepts names of 512 bytes, refuses longer, empty and malformed ones, and creates nothing', async ({
    store,
  }) => {
    const longest = 'é'.repeat(256)
    const { conversation, branch } = await store.create({ key: longest, label: longest, tags: [longest] })
    assert.deepEqual([branch.key, conversation.label, conversation.tags], [longest, longest, [longest]])
    for (const name of [`${longest}a`, '', 'a\0b', 'a\ud800']) {
      for (const bad of [{ key: name }, { label: name }, { tags: ['fine', name] }]) {
        await rejects(store.create(bad), 'invalid')
      }
      await rejects(store.updateConversation(conversation.id, { label: name }), 'invalid')
    }
    assert.equal(await store.countConversations(), 1)
    assert.deepEqual(await store.getConversation(conversation.id), conversation)
  }),
  it('refuses invalid fields, names them and creates nothing', async ({ store }) => {
    const bad: readonly [string, object][] = [
      ['kind', { kind: 'side' }],
      ['promptPolicy', { promptPolicy: 'forget' }],
      ['promptPolicy', { promptPolicy: 'message' }],
      ['prompt', { prompt: 7 }],
      ['toolResults', { toolResults: 'half' }],
      ['toolResults', { toolResults: { truncate: -1 } }],
      ['toolResults', { toolResults: { truncate: 1.5 } }],
      ['metadata', { metadata: [] }],
      ['metadata', { metadata: { when: new Date(0) } }],
      ['metadata', { metadata: { n: Number.NaN } }],
      ['tags', { tags: 'ci' }],
      ['createdAt', { createdAt: new Date(Number.NaN) }],
      ['expiresAt', { expiresAt: '2026-01-01' }],
      ['ttlMs', { ttlMs: -1 }],
      ['parent', { parent: { conversationId: 'not a UUID', messageId: null } }],
    ]
    for (const [field, conversation] of bad) {
      const error = await rejects<InvalidError>(store.create(conversation as NewConversation), 'invalid')
      assert.ok(error.field.includes(field), `${field} is named, got ${error.field}`)
    }
    assert.equal(await store.countConversations(), 0)
  }),
  it('changes one field and keeps the others, and clears a field with null (S1-24, S1-25, S1-44)', async ({
    store,
    clock,
  }) => {
    await store.create(full)
    for (const [field, given, read] of patches) {
      clock.now += later
      const before = await store.getConversation(ownId)
      const after = await store.updateConversation(ownId, { [field]: given })
      const expected = { ...before, [field]: read, version: after.version, updatedAt: new Date(clock.now) }
      assert.deepEqual(after, expected, `${field}: ${JSON.stringify(given)}`)
      assert.ok(after.version > before.version, field)
      assert.deepEqual(await store.getConversation(ownId), after)
    }
  }),
  it('changes several fields at once, or none if one is invalid', async ({ store }) => {
    const { conversation } = await store.create(full)
    const bad = { title: 'changed', promptPolicy: 'forget' } as unknown as ConversationPatch
    await rejects(store.updateConversation(ownId, bad), 'invalid')
    assert.deepEqual(await store.getConversation(ownId), conversation)
    const patch = {
      title: 'changed',
      tags: ['x'],
      metadata: { n: 2 },
      channel: null,
      promptPolicy: 'rebuild',
    } as const
    const after = await store.updateConversation(ownId, patch)
    assert.deepEqual(after, {
      ...conversation,
      ...patch,
      version: after.version,
      updatedAt: after.updatedAt,
    })
  }),
  it('changes only the given conversation (S2-62)', async ({ store }) => {
    const one = await startConversation(store, { title: 'one', tags: ['same'], metadata: { n: 1 } })
    const two = await startConversation(store, { title: 'two', tags: ['same'], metadata: { n: 1 } })
    await store.updateConversation(one.conversation.id, {
      title: 'ONE',
      tags: [],
      metadata: {},
      prompt: 'p',
    })
    await appendTexts(store, one, 'four')
    assert.deepEqual(await store.getConversation(two.conversation.id), two.conversation)
    assert.deepEqual(await store.getBranch(two.branch), two.branch)
  }),
  it('refuses to change a trashed conversation, and says so', async ({ store }) => {
    await store.create({ id: ownId, title: 'kept' })
    await store.trash(ownId)
    const error = await rejects<NotFoundError>(store.updateConversation(ownId, { title: 'x' }), 'not_found')
    assert.deepEqual([error.kind, error.trashed], ['conversation', true])
    assert.equal((await store.getConversation(ownId)).title, 'kept')
  }),
]
