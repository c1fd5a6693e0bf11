import { strict as assert } from 'node:assert'
import type { Remnant } from '../../core/removal.ts'
import { appendTexts, casesOf, holder, said, say, startConversation, summarise } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('removing')
const why = { by: 'anna', reason: 'a password' }
const places: readonly Remnant[] = ['file', 'log', 'dead_rows', 'backups']

/** A receipt may name any of the places, each once. */
function assertPlaces(remains: readonly Remnant[]): void {
  assert.equal(new Set(remains).size, remains.length)
  for (const place of remains) assert.ok(places.includes(place), place)
}

/** The receipts of deletions, the titles and prompts they clear, and compaction. */
export const removingCases: readonly ContractCase[] = [
  it('returns what an erasure removed and where it may remain', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const { ids } = await appendTexts(store, branch, 'my key is 1234', 'noted', 'more')
    await summarise(store, conversation.id, [ids[0], ids[1]!], [ids[0], ids[2]!])
    const { remains, ...effects } = await store.eraseMessages([ids[0], ids[1]!], why)
    assert.deepEqual(effects, { erased: 2, summaries: 2, titles: 1, branches: [], events: 0 })
    assertPlaces(remains)
    const again = await store.eraseMessages([ids[0]], why)
    assert.deepEqual(again, { erased: 0, summaries: 0, titles: 0, branches: [], events: 0, remains: [] })
  }),

  it('clears the automatic title when its message is deleted', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const { ids } = await appendTexts(store, branch, 'my password is swordfish', 'noted', 'more')
    assert.equal((await store.deleteMessages([ids[2]!])).titles, 0)
    assert.equal((await store.getConversation(conversation.id)).title, 'my password is swordfish')
    const { titles, remains } = await store.deleteMessages([ids[0]], { recursive: true })
    assert.equal(titles, 1)
    assertPlaces(remains)
    assert.equal((await store.getConversation(conversation.id)).title, null)
    const [listed] = (await store.listConversations()).items
    assert.equal(listed?.title, null)
    assert.equal((await store.listConversations({ title: 'swordfish' })).items.length, 0)
    await appendTexts(store, branch, 'another beginning')
    assert.equal((await store.getConversation(conversation.id)).title, 'another beginning')
  }),

  it('keeps a title that was given when all messages are deleted', async ({ store }) => {
    const { conversation, ids } = await startConversation(store, { title: 'given' })
    assert.equal((await store.deleteMessages([ids[0]], { recursive: true })).titles, 0)
    assert.equal((await store.getConversation(conversation.id)).title, 'given')
  }),

  it('finds the message of the title among many, and in a blob', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const lines = Array.from({ length: 450 }, (_, i) => say(`line ${i}`, 'assistant'))
    const { ids } = await store.append(branch, null, [...lines, say('late title '.repeat(4_000))])
    assert.match((await store.getConversation(conversation.id)).title!, /^late title /)
    assert.equal((await store.deleteMessages([ids[0]], { recursive: true })).titles, 1)
    assert.equal((await store.getConversation(conversation.id)).title, null)
  }),

  it('renames the branches that are named after removed words, and keeps other names', async ({ store }) => {
    const { conversation, branch } = await store.create({ title: 'given' })
    const { ids } = await appendTexts(store, branch, 'hello', 'hi')
    const fork = async (name: string) => (await store.createBranch(conversation.id, ids[1]!, { name })).name
    const [first, second] = [await fork('the-key-is-swordfish'), await fork('the-key-is-swordfish-2')]
    await fork('the-key-is')
    await store.activateBranch({ conversationId: conversation.id, name: second })
    const secret = say('The key is swordfish!')
    const ref = { conversationId: conversation.id, name: first }
    const { ids: one } = await store.append(ref, ids[1]!, [secret])
    const erased = await store.eraseMessages([one[0]!], why)
    assert.deepEqual(erased.branches.map(({ name }) => name).sort(), ['main-2', 'main-3'])
    const names = (await store.listBranches(conversation.id)).items.map(({ name }) => name).sort()
    assert.deepEqual(names, ['main', 'main-2', 'main-3', 'the-key-is'])
    const [kept] = erased.branches
    assert.equal((await store.getBranch(kept!)).head, one[0])
    assert.ok(erased.branches.some(({ name }) => name === 'main-3'))
    assert.match((await store.getConversation(conversation.id)).activeBranch, /^main-[23]$/)
    // A branch called main was not named after a message.
    const { ids: two } = await store.append(branch, ids[1]!, [say('main'), say('ok', 'assistant')])
    await store.renameBranch({ conversationId: conversation.id, name: 'the-key-is' }, 'ok-then')
    const deleted = await store.deleteMessages([two[0]!], { recursive: true })
    assert.deepEqual(deleted.branches, [])
    assert.deepEqual(
      deleted.moved.map(({ branch: { name } }) => name),
      ['main'],
    )
  }),

  it('empties the events that quote removed messages, and keeps their type and time', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const { ids } = await appendTexts(store, branch, 'use the token hunter2xyz', 'noted', 'another question')
    const toolCall = { toolCallId: 'call-1', title: 'curl -H hunter2xyz', rawInput: { header: 'hunter2xyz' } }
    await store.addEvents(conversation.id, [
      { type: 'permission', data: { toolCall, answer: 'allowed' } },
      { type: 'plan', data: { entries: [{ content: 'Step 1: use the token hunter2xyz, then stop' }] } },
      { type: 'plan', data: { entries: [{ content: 'read the docs' }] } },
      { type: 'tool_started', data: { call: 'call-1', message: 'use the token hunter2xyz' } },
    ])
    const before = (await store.listEvents(conversation.id)).items
    assert.equal((await store.eraseMessages([ids[2]!], why)).events, 0)
    assert.equal((await store.eraseMessages([ids[0]!], why)).events, 2)
    const types = ['permission', 'plan', 'tool_started'] as const
    const after = (await store.listEvents(conversation.id, { types })).items
    const kept = ({ n, type, createdAt }: (typeof after)[number]) => ({ n, type, createdAt })
    assert.deepEqual(after.map(kept), before.map(kept))
    assert.deepEqual(
      after.map(({ data }) => data),
      [{ erased: true }, { erased: true }, before[2]!.data, before[3]!.data],
    )
    const { ids: more } = await appendTexts(store, branch, 'please read the docs today')
    assert.equal((await store.deleteMessages([more[0]!])).events, 1)
  }),

  it('returns what a purge removed', async ({ store }) => {
    const { conversation } = await startConversation(store)
    await store.trash(conversation.id)
    const { remains, ...effects } = await store.purge(conversation.id)
    assert.deepEqual(effects, { purged: true, messages: 3 })
    assertPlaces(remains)
    assert.deepEqual(await store.purge(conversation.id), { purged: false, messages: 0, remains: [] })
  }),

  it('purges a prompt with the last conversation that has it', async ({ store }) => {
    const one = await store.create({ prompt: 'shared prompt' })
    const two = await store.create({ prompt: 'shared prompt' })
    await store.trash(one.conversation.id)
    await store.purge(one.conversation.id)
    assert.equal((await store.getConversation(two.conversation.id)).prompt?.text, 'shared prompt')
    await store.trash(two.conversation.id)
    await store.purge(two.conversation.id)
    assert.deepEqual((await store.verify()).findings, { damage: 0, repairable: 0, note: 0 })
    const three = await store.create({ prompt: 'shared prompt' })
    assert.equal((await store.getConversation(three.conversation.id)).prompt?.text, 'shared prompt')
  }),

  it(
    'never purges a prompt that a new conversation refers to',
    async ({ store, second }) => {
      const other = await second()
      for (let round = 0; round < 20; round++) {
        const text = `prompt ${round}`
        const old = await store.create({ prompt: text })
        await store.trash(old.conversation.id)
        const [made] = await Promise.all([
          other.create({ prompt: text }),
          store.purge(old.conversation.id),
          other.create({ prompt: text }),
        ])
        assert.equal((await store.getConversation(made.conversation.id)).prompt?.text, text)
      }
      assert.equal((await store.verify()).findings.damage, 0)
    },
    'second handle',
  ),

  it('compacts without changing what readers see', async ({ store }) => {
    const kept = await startConversation(store, { title: 'kept', prompt: 'be brief', tags: ['a'] })
    const erased = await startConversation(store)
    await store.search('one')
    await store.eraseMessages([erased.ids[1]], why)
    await store.deleteMessages([erased.ids[2]])
    const before = await store.getConversation(kept.conversation.id)
    const { bytesBefore, bytesAfter, remains } = await store.compact()
    assert.ok(bytesBefore > 0 && bytesAfter > 0)
    assertPlaces(remains)
    assert.ok(!remains.includes('file') && !remains.includes('dead_rows'))
    assert.deepEqual(await store.getConversation(kept.conversation.id), before)
    assert.deepEqual(await said(store, kept.branch), ['one', 'two', 'three'])
    assert.deepEqual(await said(store, erased.branch), ['one', ''])
    assert.equal((await store.search('two')).items.length, 1)
    assert.deepEqual((await store.verify()).findings, { damage: 0, repairable: 0, note: 0 })
  }),

  it('compacts while a turn is open, and the turn continues', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const turn = { key: 'running', status: 'open', holder: holder() } as const
    const opened = await store.append(branch, ids[2], [say('four')], { turn: { ...turn, step: 0 } })
    await store.putDraft(conversation.id, 'running', holder(), [{ n: 0, type: 'text', text: 'five' }])
    await store.compact()
    const ended = await store.endTurn(conversation.id, 'running', { status: 'interrupted', heldBy: holder() })
    assert.notEqual(ended.message, null)
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'four', 'five'])
    assert.equal((await store.getMessages([opened.head]))[0]?.seq, 3)
  }),
]
