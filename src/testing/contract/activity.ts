import { strict as assert } from 'node:assert'
import type { ConversationId } from '../../core/ids.ts'
import type { NewMessage, NonEmpty } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { BranchInConversation, Store } from '../../core/ports.ts'
import { appendTexts, casesOf, holder, noMessage, rejects, say, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('activity')
const day = 86_400_000
const family = '👨‍👩‍👧‍👦'

const titleOf = async (store: Store, place: BranchInConversation) =>
  (await store.getConversation(place.conversation.id)).title

const expiryOf = async (store: Store, id: ConversationId) =>
  (await store.getConversation(id)).expiresAt?.getTime()

/** The title after a first append. */
async function titled(store: Store, ...messages: NonEmpty<NewMessage>): Promise<string | null> {
  const place = await store.create()
  await store.append(place.branch, null, messages)
  return titleOf(store, place)
}

/** The effects of new messages on their conversation. */
export const activityCases: readonly ContractCase[] = [
  it('takes the title from the first text of a user message (S1-3, S1-6)', async ({ store }) => {
    assert.equal(await titled(store, say('Why is the build red?')), 'Why is the build red?')
    assert.equal(await titled(store, say('  two\n\n lines\t and\u00a0more ')), 'two lines and more')
    assert.equal(await titled(store, say('hello', 'assistant')), null)
    assert.equal(await titled(store, say('hello', 'assistant'), say('asked')), 'asked')
    assert.equal(await titled(store, say('first'), say('second')), 'first')
    const blocks = [{ type: 'text', text: 'a' } as const, { type: 'text', text: 'b' } as const]
    assert.equal(await titled(store, { role: 'user', content: blocks }), 'a b')
  }),
  it('cuts a long title at 60 graphemes', async ({ store }) => {
    assert.equal(await titled(store, say('a'.repeat(60))), 'a'.repeat(60))
    assert.equal(await titled(store, say('a'.repeat(61))), `${'a'.repeat(59)}…`)
    assert.equal(await titled(store, say(family.repeat(60))), family.repeat(60))
    assert.equal(await titled(store, say(family.repeat(70))), `${family.repeat(59)}…`)
  }),
  it('takes no title from an image or from white space', async ({ store }) => {
    const place = await store.create()
    const image = { type: 'image', mime: 'image/png', url: 'https://example.org/a.png' } as const
    const first = await store.append(place.branch, null, [{ role: 'user', content: [image] }, say(' \n ')])
    assert.equal(await titleOf(store, place), null)
    await store.append(place.branch, first.head, [say('what is this?')])
    assert.equal(await titleOf(store, place), 'what is this?')
  }),
  it('keeps a given or a found title when later messages arrive (S1-25)', async ({ store }) => {
    const given = await startConversation(store, { title: 'mine' })
    assert.equal(given.conversation.title, 'mine')
    const found = await startConversation(store)
    assert.equal(found.conversation.title, 'one')
    await appendTexts(store, found, 'something else')
    assert.equal(await titleOf(store, found), 'one')
    await store.updateConversation(found.conversation.id, { title: 'renamed' })
    await appendTexts(store, found, 'and on')
    assert.equal(await titleOf(store, found), 'renamed')
  }),
  it('takes a title from saved messages too (S3-33)', async ({ store }) => {
    const place = await store.create()
    await store.save(place.conversation.id, [
      { message: say('sure', 'assistant'), parent: null },
      { message: say('from a save'), parent: { item: 0 } },
    ])
    assert.equal(await titleOf(store, place), 'from a save')
  }),
  it('counts messages and tokens of all branches, estimated or given (S1-11, S2-40)', async ({ store }) => {
    const place = await store.create()
    const { id } = place.conversation
    const first = await store.append(place.branch, null, [say('12345678'), { ...say('x'), tokens: 70 }])
    await store.createBranch(id, first.ids[0], { name: 'side' })
    await store.append({ conversationId: id, name: 'side' }, first.ids[0], [say('123')])
    await store.save(id, [{ message: say('root'), parent: null }])
    const { messages, tokens, tokensUsed, cost } = await store.getConversation(id)
    assert.deepEqual(
      { messages, tokens, tokensUsed, cost },
      { messages: 4, tokens: 74, tokensUsed: 0, cost: 0 },
    )
  }),
  it('adds up the usage of all turns (S1-33, S2-9)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const step = (key: string, usage: object) => ({ turn: { key, step: 0, usage } })
    const first = await store.append(
      branch,
      null,
      [say('a')],
      step('t1', { input: 10, output: 5, cost: 0.5 }),
    )
    await store.append(
      branch,
      first.head,
      [say('b')],
      step('t2', { input: 7, cacheRead: 1_000, reasoning: 3 }),
    )
    const { tokensUsed, cost } = await store.getConversation(conversation.id)
    assert.deepEqual({ tokensUsed, cost }, { tokensUsed: 22, cost: 0.5 })
  }),
  it('moves updatedAt with every append, save and change, never back (S0-35, S1-10, S1-33)', async ({
    store,
    clock,
  }) => {
    const made = clock.now
    const { conversation, branch } = await store.create()
    const updated = async () => (await store.getConversation(conversation.id)).updatedAt.getTime()
    clock.now += 1_000
    await appendTexts(store, branch, 'a')
    assert.equal(await updated(), made + 1_000)
    clock.now += 1_000
    await store.save(conversation.id, [{ message: say('b'), parent: null }])
    assert.equal(await updated(), made + 2_000)
    clock.now -= 90_000
    await appendTexts(store, branch, 'c')
    await store.updateConversation(conversation.id, { title: 'x' })
    assert.equal(await updated(), made + 2_000)
    assert.equal((await store.getConversation(conversation.id)).createdAt.getTime(), made)
  }),
  it('increments the version with every change and returns it from versionOf', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { id } = conversation
    const side = { conversationId: id, name: 'side' }
    const by = holder()
    const open = { turn: { key: 't', step: 0, status: 'open', holder: by } } as const
    const changes: readonly [string, () => Promise<unknown>][] = [
      ['updateConversation', () => store.updateConversation(id, { title: 'x' })],
      ['append', () => appendTexts(store, branch, 'four')],
      ['save', () => store.save(id, [{ message: say('root'), parent: null }])],
      ['setLabel', () => store.setLabel(ids[0], 'here')],
      ['createBranch', () => store.createBranch(id, ids[1], { name: 'side' })],
      ['moveBranch', () => store.moveBranch(side, ids[1], ids[0])],
      ['setKey', () => store.setKey(side, 'k')],
      [
        'setAgentLink',
        () => store.setAgentLink(side, { agent: 'a', directory: '/', foreignId: 'f', seen: null }),
      ],
      ['removeAgentLink', () => store.removeAgentLink(side, 'a', '/')],
      ['activateBranch', () => store.activateBranch(side)],
      ['reset', () => store.reset(side)],
      ['renameBranch', () => store.renameBranch(branch, 'old')],
      ['deleteBranch', () => store.deleteBranch({ conversationId: id, name: 'old' })],
      ['addEvents', () => store.addEvents(id, [{ type: 'plan' }])],
      ['an open turn', () => store.append(side, null, [say('q')], open)],
      ['endTurn', () => store.endTurn(id, 't', { status: 'complete', heldBy: by })],
      ['eraseMessages', () => store.eraseMessages([ids[0]], { by: 'me', reason: 'test' })],
      ['deleteMessages', () => store.deleteMessages([ids[0]], { recursive: true })],
      ['trash', () => store.trash(id)],
      ['restore', () => store.restore(id)],
    ]
    for (const [name, change] of changes) {
      const before = await store.versionOf(id)
      await change()
      const after = await store.versionOf(id)
      assert.ok(after > before, `${name} raises the version`)
      assert.equal((await store.getConversation(id)).version, after, name)
    }
  }),
  it('keeps the version when nothing changes: refusals, repeats, reads, other conversations', async ({
    store,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { id } = conversation
    const turn = { key: 't', step: 0 }
    await store.append(branch, ids[2], [say('four')], { turn })
    const before = await store.versionOf(id)
    assert.equal((await store.append(branch, ids[2], [say('four')], { turn })).outcome, 'replayed')
    await rejects(store.append(branch, ids[0], [say('late')]), 'conflict')
    await rejects(store.createBranch(id, null, { name: 'main' }), 'key_reused')
    await rejects(store.moveBranch(branch, null, ids[0]), 'conflict')
    await rejects(store.save(id, [{ message: say('lost'), parent: noMessage }]), 'not_found')
    await collectPages(page => store.listBranches(id, page))
    await pathOf(store, ids[2])
    await startConversation(store)
    assert.equal(await store.versionOf(id), before)
  }),
  it('sets the expiry from ttlMs and moves it with each append (S2-8)', async ({ store, clock }) => {
    const { conversation, branch } = await store.create({ ttlMs: day })
    const { id } = conversation
    assert.equal(await expiryOf(store, id), clock.now + day)
    clock.now += 3_600_000
    await appendTexts(store, branch, 'a')
    assert.equal(await expiryOf(store, id), clock.now + day)
    clock.now += 10 * day
    await appendTexts(store, branch, 'b')
    assert.equal(await expiryOf(store, id), clock.now + day)
    assert.equal((await store.getConversation(id)).ttlMs, day)
  }),
  it('keeps the expiry without ttlMs until it has passed, then renews it by its first span', async ({
    store,
    clock,
  }) => {
    const made = clock.now
    const { conversation, branch } = await store.create({ expiresAt: new Date(made + 5 * day) })
    const { id } = conversation
    clock.now = made + 4 * day
    await appendTexts(store, branch, 'in time')
    assert.equal(await expiryOf(store, id), made + 5 * day)
    clock.now = made + 8 * day
    await appendTexts(store, branch, 'expired 3 days ago, continued')
    assert.equal(await expiryOf(store, id), made + 13 * day)
    clock.now = made + 20 * day
    await appendTexts(store, branch, 'and once more, for as long as at first')
    assert.equal(await expiryOf(store, id), made + 25 * day)
    assert.equal((await store.getConversation(id)).ttlMs, null)
  }),
  it('reads and continues an expired conversation by its id', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store, {
      expiresAt: new Date(clock.now + 1_000),
    })
    clock.now += day
    assert.equal((await store.getConversation(conversation.id)).expiresAt?.getTime(), clock.now - day + 1_000)
    assert.equal((await pathOf(store, ids[2])).length, 3)
    assert.equal((await appendTexts(store, branch, 'four')).outcome, 'appended')
  }),
  it('sets no expiry if none was given', async ({ store, clock }) => {
    const { conversation, branch } = await startConversation(store)
    clock.now += 1_000 * day
    await appendTexts(store, branch, 'years later')
    const { expiresAt, ttlMs } = await store.getConversation(conversation.id)
    assert.deepEqual({ expiresAt, ttlMs }, { expiresAt: null, ttlMs: null })
  }),
]
