import { strict as assert } from 'node:assert'
import type { ConversationId } from '../../core/ids.ts'
import { textOf } from '../../core/message.ts'
import type { ConversationOverview } from '../../core/overview.ts'
import type { Store } from '../../core/ports.ts'
import {
  appendTexts,
  casesOf,
  grow,
  holder,
  noConversation,
  rejects,
  say,
  startConversation,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('overviews')

/** The overviews of all conversations, most recently used first. */
async function overviews(store: Store): Promise<readonly ConversationOverview[]> {
  return store.readOverviews((await store.listConversations({ limit: 100 })).items)
}

async function overviewOf(store: Store, id: ConversationId): Promise<ConversationOverview> {
  const found = (await overviews(store)).find(({ conversation }) => conversation.id === id)
  assert.ok(found)
  return found
}

export const overviewCases: readonly ContractCase[] = [
  it('reads what a list shows, in the order of the list', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    clock.now += 1_000
    const empty = await store.create({ title: 'Empty' })
    await store.createBranch(conversation.id, ids[0], { name: 'side' })
    const listed = (await store.listConversations()).items
    const read = await store.readOverviews([...listed].reverse())
    assert.deepEqual(
      read.map(one => one.conversation),
      [...listed].reverse(),
    )
    const [first, last] = await store.getMessages([ids[0], ids[2]])
    assert.deepEqual(
      { ...read[0], conversation: null },
      { conversation: null, branches: 2, pathMessages: 3, first, last, openTurns: [], agent: null },
    )
    assert.deepEqual(read[0]?.conversation.branch, await store.getBranch(branch))
    assert.deepEqual(
      { ...read[1], conversation: null },
      {
        conversation: null,
        branches: 1,
        pathMessages: 0,
        first: null,
        last: null,
        openTurns: [],
        agent: null,
      },
    )
    assert.equal(read[1]?.conversation.id, empty.conversation.id)
    assert.deepEqual(await store.readOverviews([]), [])
  }),
  it('counts the messages on the path of the active branch only', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    await appendTexts(store, side, 'aside')
    assert.equal((await overviewOf(store, conversation.id)).pathMessages, 3)
    await store.activateBranch(side)
    const active = await overviewOf(store, conversation.id)
    assert.deepEqual([active.pathMessages, active.last && textOf(active.last)], [2, 'aside'])
    await store.moveBranch(side, active.last!.id, null)
    assert.deepEqual((await overviewOf(store, conversation.id)).last, null)
    assert.equal((await store.getBranch(branch)).head, ids[2])
  }),
  it('finds the first message of a user behind a prompt, and looks at 50 messages', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const prompts = Array.from({ length: 49 }, (_, n) => say(`${n}`, 'system'))
    const { head } = await store.append(branch, null, prompts)
    await store.append(branch, head, [say('question'), say('answer', 'assistant')])
    const { first } = await overviewOf(store, conversation.id)
    assert.equal(first && textOf(first), 'question')
    const other = await store.create()
    const { head: end } = await store.append(other.branch, null, [...prompts, say('49', 'system')])
    await store.append(other.branch, end, [say('late')])
    assert.equal((await overviewOf(store, other.conversation.id)).first, null)
    assert.equal((await overviewOf(store, other.conversation.id)).pathMessages, 51)
  }),
  it('finds the first message of a user after others were deleted', async ({ store }) => {
    const { conversation } = await store.create()
    const ids = await grow(store, conversation.id, { gone: null, child: 'gone', kept: null })
    await store.deleteMessages([ids.gone], { recursive: true })
    assert.equal((await overviewOf(store, conversation.id)).first?.id, ids.kept)
  }),
  it('names open turns and the agent that the active branch was last linked to', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const link = { directory: '/', foreignId: 'f', seen: null }
    await store.setAgentLink(branch, { ...link, agent: 'older' })
    clock.now += 1_000
    await store.setAgentLink(branch, { ...link, agent: 'newer' })
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    clock.now += 1_000
    await store.setAgentLink(side, { ...link, agent: 'elsewhere' })
    const open = { step: 0, status: 'open', holder: holder() } as const
    await store.append(branch, ids[2], [say('q')], { turn: { ...open, key: 'one' } })
    await store.append(side, ids[0], [say('q')], { turn: { ...open, key: 'two' } })
    await store.append(side, null, [say('x')], { onConflict: 'fork', turn: { key: 'done', step: 0 } })
    const read = await overviewOf(store, conversation.id)
    assert.equal(read.agent, 'newer')
    assert.deepEqual(
      read.openTurns.map(turn => turn.key),
      ['one', 'two'],
    )
    assert.deepEqual(read.openTurns[0], await store.findTurn(conversation.id, 'one'))
    await store.endTurn(conversation.id, 'one', { status: 'complete', heldBy: holder() })
    assert.deepEqual(
      (await overviewOf(store, conversation.id)).openTurns.map(turn => turn.key),
      ['two'],
    )
  }),
  it('returns previews of blobs', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const long = 'x'.repeat(50_000)
    const { head } = await store.append(branch, null, [say(long), say(long, 'assistant')])
    const read = await overviewOf(store, conversation.id)
    const [last] = await store.getMessages([head], { blobs: 'preview' })
    assert.deepEqual(read.last, last)
    assert.ok(textOf(read.first!).length < 2_000)
  }),
  it('knows nothing of a conversation that was purged since the list', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const { items } = await store.listConversations()
    await store.trash(conversation.id)
    await store.purge(conversation.id)
    const [read] = await store.readOverviews(items)
    assert.deepEqual([read?.branches, read?.pathMessages, read?.first, read?.last], [0, 0, null, null])
  }),
  it('refuses more than 1,000 conversations, and what is not a conversation', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const { items } = await store.listConversations()
    const many = Array.from({ length: 1_001 }, () => items[0]!)
    await rejects(store.readOverviews(many), 'invalid')
    assert.equal((await store.readOverviews(many.slice(1))).length, 1_000)
    await rejects(store.readOverviews([{ id: 'x' } as never]), 'invalid')
    await rejects(store.readOverviews(conversation.id as never), 'invalid')
  }),
  it('reads the versions of many conversations', async ({ store }) => {
    const made = [await startConversation(store), await startConversation(store)]
    const ids = made.map(({ conversation }) => conversation.id)
    await appendTexts(store, made[1]!, 'more')
    const versions = await store.versionsOf([...ids, noConversation, ids[0]!])
    assert.equal(versions.size, 2)
    for (const id of ids) assert.equal(versions.get(id), await store.versionOf(id))
    assert.notEqual(versions.get(ids[0]!), versions.get(ids[1]!))
    assert.equal((await store.versionsOf([])).size, 0)
    await rejects(store.versionsOf(['x']), 'invalid')
  }),
  it('tells how much of an id is needed to find its conversation', async ({ store }) => {
    const idFrom = (start: string) => `${start.padEnd(8, '0')}-0000-4000-8000-000000000001`
    const ids = ['9e5a11aa', '9e5a11ab', '0f'].map(idFrom)
    const made = []
    for (const id of ids) made.push(await store.create({ id }))
    const lengths = await store.uniqueLengths([...ids, ids[0]!])
    assert.deepEqual(
      ids.map(id => lengths.get(id)),
      [8, 8, 1],
    )
    for (const [id, length] of lengths)
      assert.equal((await store.resolve(id.slice(0, Math.max(6, length)))).conversation.id, id)
    // Ids of messages count too. They contain no 0.
    const texts = Array.from({ length: 100 }, (_, i) => `message ${i}`)
    const appended = await appendTexts(store, made[0]!, ...texts)
    const start = appended.ids.find(id => /^[a-f2-7]{2}/.test(id))!.slice(0, 2)
    const near = await store.create({ id: idFrom(start) })
    assert.deepEqual([...(await store.uniqueLengths([near.conversation.id])).values()], [3])
    assert.equal((await store.uniqueLengths([noConversation])).size, 0)
    assert.equal((await store.uniqueLengths([])).size, 0)
    await rejects(store.uniqueLengths(['x']), 'invalid')
  }),
]
