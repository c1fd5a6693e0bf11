import { strict as assert } from 'node:assert'
import type { NewBranch } from '../../core/branch.ts'
import type { ConversationPatch, NewConversation } from '../../core/conversation.ts'
import { SkeinError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { TurnStep } from '../../core/turn.ts'
import { appendTexts, casesOf, holder, noMessage, said, say, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { type BadInput, refuses } from './refuses.ts'

const it = casesOf('hostile input')

/** Text that the two engines would not store alike. */
const unkeepable = ['a\0b', '\0', 'a\ud800', '\udc00b', 5, {}, ['x']]

/** Also not valid as a key, name or label: empty, or longer than 512 bytes. */
const unnameable = [...unkeepable, '', 'k'.repeat(513), 'é'.repeat(257), '😀'.repeat(129), 'k'.repeat(10_000)]

/** Unusual but valid names, to be kept to the byte and distinguished. */
const nameable = [
  "'; drop table skein_messages; --",
  '" or ""="',
  '%',
  '_',
  '\\',
  'é',
  'e\u0301',
  'KEY',
  'key',
  'key ',
  ' key',
  'a:b',
  '👩‍👩‍👧‍👦',
  '\u202ertl',
  '\ufeffbom',
  'new\nline',
  '__proto__',
  'constructor',
  'x'.repeat(512),
  'é'.repeat(256),
]

const each = (field: RegExp, values: readonly unknown[]): BadInput[] => values.map(value => [field, value])

/** Fails unless the promise is refused as invalid or returns exactly this value. */
async function keepsOrRefuses(promise: Promise<unknown>, kept: unknown): Promise<void> {
  try {
    assert.deepEqual(await promise, kept)
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error
    assert.equal(error.code, 'invalid', error.message)
  }
}

export const hostileCases: readonly ContractCase[] = [
  it('refuses keys that are empty, over 512 bytes, or contain NUL or lone surrogates (R13)', async ({
    store,
  }) => {
    const bad = each(/key/, unnameable)
    await refuses(store, bad, (_, key) => store.create({ key }))
    await refuses(store, bad, (_, key) => store.findOrCreate(key))
    await refuses(store, bad, (place, key) => store.setKey(place.branch, key))
    await refuses(store, bad, (place, key) =>
      store.createBranch(place.conversation.id, place.ids[0], { name: 'side', key }),
    )
  }),
  it('refuses such branch names (R13)', async ({ store }) => {
    const bad = each(/name/, unnameable)
    await refuses(store, bad, (place, name) =>
      store.createBranch(place.conversation.id, place.ids[0], { name }),
    )
    await refuses(store, bad, (place, name) => store.renameBranch(place.branch, name))
  }),
  it('refuses such labels of messages and conversations (R13)', async ({ store }) => {
    const bad = each(/label/, unnameable)
    await refuses(store, bad, (place, label) => store.setLabel(place.ids[0], label))
    await refuses(store, bad, (place, label) =>
      store.append(place.branch, place.ids[2], [say('good'), { ...say('bad'), label }]),
    )
    await refuses(store, bad, (_, label) => store.create({ label }))
    await refuses(store, bad, (place, label) => store.updateConversation(place.conversation.id, { label }))
  }),
  it('refuses such turn keys (R13)', async ({ store }) => {
    await refuses(store, each(/key/, unnameable), (place, key) =>
      store.append(place.branch, place.ids[2], [say('x')], { turn: { key, step: 0 } }),
    )
  }),
  it('refuses NUL and lone surrogates in titles, tags, models and links (R13)', async ({ store }) => {
    const fields = ['title', 'model', 'channel', 'directory', 'project', 'task', 'owner'] as const
    for (const field of fields) {
      const bad = each(new RegExp(field), unkeepable)
      await refuses(store, bad, (_, value) => store.create({ [field]: value } as NewConversation))
      await refuses(store, bad, (place, value) =>
        store.updateConversation(place.conversation.id, { [field]: value } as ConversationPatch),
      )
    }
    const tags = each(/tags/, [...unkeepable.map(tag => ['good', tag]), 'no list', ['']])
    await refuses(store, tags, (_, value) => store.create({ tags: value }))
    await refuses(store, tags, (place, value) =>
      store.updateConversation(place.conversation.id, { tags: value }),
    )
    await refuses(store, each(/title/, unkeepable), (place, title) =>
      store.createBranch(place.conversation.id, place.ids[0], { name: 'side', title } as NewBranch),
    )
  }),
  it('refuses them in the fields of agent links (R13)', async ({ store }) => {
    const good = { agent: 'claude', directory: '/src', foreignId: 's1', seen: null }
    for (const field of ['agent', 'directory', 'foreignId'] as const) {
      await refuses(store, each(new RegExp(field), unkeepable), (place, value) =>
        store.setAgentLink(place.branch, { ...good, [field]: value }),
      )
    }
  }),
  it('refuses metadata and event data that are not JSON objects', async ({ store }) => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    const wrong = [[], 'x', 5, new Map(), { at: new Date(0) }, { n: Number.NaN }, { f: () => 1 }, cycle]
    const metadata = each(/metadata/, wrong)
    await refuses(store, metadata, (_, value) => store.create({ metadata: value }))
    await refuses(store, metadata, (place, value) =>
      store.updateConversation(place.conversation.id, { metadata: value }),
    )
    await refuses(store, each(/^events\[1\]\.data/, wrong), (place, data) =>
      store.addEvents(place.conversation.id, [{ type: 'plan' }, { type: 'plan', data }]),
    )
  }),
  it('refuses impossible dates and spans (R13)', async ({ store }) => {
    const dates = [new Date(Number.NaN), new Date(-1), new Date(8.64e15), 0, '2026-01-01']
    await refuses(store, each(/createdAt/, dates), (_, createdAt) => store.create({ createdAt }))
    await refuses(store, each(/expiresAt/, dates), (_, expiresAt) => store.create({ expiresAt }))
    await refuses(store, each(/expiresAt/, dates), (place, expiresAt) =>
      store.updateConversation(place.conversation.id, { expiresAt }),
    )
    const spans = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '24h']
    await refuses(store, each(/ttlMs/, spans), (_, ttlMs) => store.create({ ttlMs }))
    await refuses(store, each(/events\[0\]\.createdAt/, dates), (place, at) =>
      store.addEvents(place.conversation.id, [{ type: 'plan', createdAt: at }]),
    )
  }),
  it('refuses invalid turns: steps, statuses, holders and usage', async ({ store }) => {
    const turn = { key: 't1', step: 0 }
    const open = { ...turn, status: 'open', holder: holder() }
    await refuses(
      store,
      [
        [/step/, { ...turn, step: -1 }],
        [/step/, { ...turn, step: 0.5 }],
        [/step/, { ...turn, step: Number.NaN }],
        [/step/, { key: 't1' }],
        [/status/, { ...turn, status: 'done' }],
        [/status/, { ...turn, status: null }],
        [/key/, { ...turn, key: 5 }],
        [/holder/, { ...turn, status: 'open' }],
        [/holder/, { ...open, holder: 'me' }],
        [/holder.*pid/, { ...open, holder: { ...holder(), pid: 1.5 } }],
        [/holder.*host/, { ...open, holder: { ...holder(), host: 7 } }],
        [/usage.*input/, { ...turn, usage: { input: -1 } }],
        [/usage.*output/, { ...turn, usage: { output: Number.NaN } }],
        [/usage.*reasoning/, { ...turn, usage: { reasoning: 1.5 } }],
        [/usage.*cost/, { ...turn, usage: { cost: Number.POSITIVE_INFINITY } }],
        [/usage.*cost/, { ...turn, usage: { cost: -0.01 } }],
      ],
      (place, bad: TurnStep) => store.append(place.branch, place.ids[2], [say('x')], { turn: bad }),
    )
  }),
  it('refuses invalid pieces of a draft and invalid ends of a turn', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const turn: TurnStep = { key: 't1', step: 0, status: 'open', holder: holder() }
    await store.append(branch, ids[2], [say('x')], { turn })
    const version = await store.versionOf(conversation.id)
    const good = { n: 0, type: 'text', text: 'x' }
    const pieces: BadInput[] = [
      [/^pieces$/, []],
      [/^pieces$/, null],
      [/^pieces\[0\]/, [null]],
      [/^pieces\[0\]\.n/, [{ ...good, n: -1 }]],
      [/^pieces\[0\]\.n/, [{ ...good, n: 0.5 }]],
      [/^pieces\[1\]\.type/, [good, { ...good, n: 1, type: 'image' }]],
      [/^pieces\[1\]\.text/, [good, { ...good, n: 1, text: 5 }]],
    ]
    await refuses(store, pieces, (_, value) => store.putDraft(conversation.id, 't1', holder(), value))
    const end = { status: 'complete', heldBy: holder() }
    const ends: BadInput[] = [
      [/status/, { ...end, status: 'open' }],
      [/status/, { heldBy: holder() }],
      [/heldBy/, { status: 'complete' }],
      [/usage/, { ...end, usage: { input: -1 } }],
    ]
    await refuses(store, ends, (_, value) => store.endTurn(conversation.id, 't1', value))
    assert.deepEqual(await collectPages(page => store.readDraft(conversation.id, 't1', page)), [])
    assert.equal(await store.versionOf(conversation.id), version)
  }),
  it('refuses ids with the wrong shape, including ones that look like SQL (R13)', async ({ store }) => {
    const odd = [
      '',
      'abc',
      "' or 1=1 --",
      `${noMessage}\0`,
      noMessage.toUpperCase(),
      'z'.repeat(10_000),
      5,
      null,
    ]
    const ids = odd.map(id => [/./, id] as const)
    await refuses(store, ids, (_, id) => pathOf(store, id))
    await refuses(store, ids, (_, id) => store.tail(id, { messages: 1 }))
    await refuses(store, ids, (place, id) => store.getMessages([place.ids[0], id]))
    await refuses(store, ids, (_, id) => store.setLabel(id, 'x'))
    await refuses(store, ids, (_, id) => store.getConversation(id))
    await refuses(store, ids, (_, id) => collectPages(page => store.listStretches(id, page)))
    await refuses(store, ids, (_, id) => store.save(id, [{ message: say('x'), parent: null }]))
    await refuses(store, ids, (_, id) => store.append({ conversationId: id, name: 'main' }, null, [say('x')]))
    const heads = ids.filter(([, id]) => id !== null)
    await refuses(store, heads, (place, id) => store.append(place.branch, id, [say('x')]))
    await refuses(store, heads, (place, id: MessageId) =>
      store.append(place.branch, id, [say('x')], { onConflict: 'fork' }),
    )
  }),
  it('keeps unusual keys to the byte and distinguishes them (S0-13, S0-18, R13)', async ({ store }) => {
    const made = new Map<string, string>()
    for (const key of nameable) made.set(key, (await store.create({ key })).conversation.id)
    assert.equal(new Set(made.values()).size, nameable.length)
    for (const [key, id] of made) {
      const found = await store.findByKey(key)
      assert.deepEqual([found?.conversation.id, found?.branch.key], [id, key])
      assert.equal((await store.findOrCreate(key)).created, false)
    }
    for (const key of ["' or '1'='1", '%%', '__', 'Key', 'x'.repeat(511)]) {
      assert.equal(await store.findByKey(key), null)
    }
  }),
  it('keeps unusual names, labels, titles, tags and links to the byte (R13)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const id = conversation.id
    for (const text of nameable) {
      const side = await store.createBranch(id, ids[0], { name: text, title: text })
      assert.deepEqual([side.name, side.title], [text, text])
      assert.equal((await store.getBranch({ conversationId: id, name: text })).name, text)
      await appendTexts(store, side, text)
      assert.deepEqual(await said(store, side), ['one', text])
      await store.setLabel(ids[1], text)
      assert.equal((await store.getMessages([ids[1]]))[0]?.label, text)
      const links = { channel: text, directory: text, project: text, task: text, owner: text, model: text }
      const patch = { title: text, tags: [text], label: text, metadata: { [text]: text }, ...links }
      assert.partialDeepStrictEqual(await store.updateConversation(id, patch), patch)
      assert.partialDeepStrictEqual(await store.getConversation(id), patch)
      assert.equal(await store.countConversations({ task: text, title: text, tag: text }), 1)
    }
    assert.equal((await collectPages(page => store.listBranches(id, page))).length, nameable.length + 1)
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
  }),
  it('keeps unusual turn keys to the byte and distinguishes them (R13)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    for (const key of nameable) {
      const { head } = await store.getBranch(branch)
      const made = await store.append(branch, head, [say('the same words')], { turn: { key, step: 0 } })
      assert.equal(made.outcome, 'appended')
    }
    const turns = await collectPages(page => store.listTurns(conversation.id, page))
    assert.deepEqual(
      turns.map(turn => turn.key),
      nameable,
    )
  }),
  it('keeps metadata keys with a meaning in JavaScript (R13)', async ({ store }) => {
    const metadata = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":1,"a\\u0000b":"\\u0000\\ud800","toString":null}',
    ) as JsonObject
    const { conversation } = await store.create({ metadata })
    const read = await store.getConversation(conversation.id)
    assert.equal(JSON.stringify(read.metadata), JSON.stringify(metadata))
    assert.ok(Object.hasOwn(read.metadata, '__proto__'))
    await store.addEvents(conversation.id, [{ type: 'plan', data: metadata }])
    const [event] = await collectPages(page => store.listEvents(conversation.id, page))
    assert.equal(JSON.stringify(event?.data), JSON.stringify(metadata))
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
  }),
  it('keeps a prompt to the byte or refuses it, the same on every engine (R13)', async ({ store }) => {
    const { conversation } = await store.create()
    for (const prompt of ['a\0b', '\ud800', '\ufeffYou are\r\n"helpful"\\', 'x'.repeat(100_000), "'; --"]) {
      const update = store.updateConversation(conversation.id, { prompt })
      await keepsOrRefuses(
        update.then(after => after.prompt?.text),
        prompt,
      )
    }
    const good = await store.updateConversation(conversation.id, { prompt: 'You are helpful.' })
    assert.equal(good.prompt?.text, 'You are helpful.')
  }),
]
