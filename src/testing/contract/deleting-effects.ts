import { strict as assert } from 'node:assert'
import type { BusyError, NotFoundError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import {
  assertSummarised,
  casesOf,
  holder,
  interleave,
  rejects,
  said,
  say,
  startConversation,
  summarise,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('deleting')

/** What a deletion does to all that is not a message. */
export const deletingEffectsCases: readonly ContractCase[] = [
  it('drops summaries that touch what is deleted, keeps the others and says how many', async world => {
    const { store } = world
    const { conversation, ids } = await startConversation(store)
    const [one, two, three] = ids
    await summarise(store, conversation.id, [one, two], [one, three], [three, three])
    assert.equal((await store.deleteMessages([three])).summaries, 2)
    await assertSummarised(store, conversation.id, [one, two])
  }),

  it('keeps the summary of a branch when messages in between, of another, are deleted', async world => {
    const { store } = world
    const { id, ids } = await interleave(store)
    await summarise(store, id, [ids.a1, ids.a3], [ids.root, ids.b2])
    assert.equal((await store.deleteMessages([ids.b2], { recursive: true })).summaries, 1)
    await assertSummarised(store, id, [ids.a1, ids.a3])
  }),

  it('lets a range be summarised again after it has changed', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await summarise(store, conversation.id, [ids[0], ids[2]])
    await store.deleteMessages([ids[2]])
    const { head } = await store.append(branch, ids[1], [say('three')])
    const range = { first: ids[0], last: head }
    assert.deepEqual(await store.claimSummary(conversation.id, range, holder(2)), { claimed: true })
  }),

  it('forgets that an agent has seen what is deleted, and keeps the link', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    const link = { directory: '/work', foreignId: 'f-1' }
    await store.setAgentLink(branch, { ...link, agent: 'gone', seen: ids[2] })
    await store.setAgentLink(branch, { ...link, agent: 'kept', foreignId: 'f-2', seen: ids[1] })
    await store.deleteMessages([ids[2]])
    const seen = new Map((await store.listAgentLinks(branch)).map(l => [l.agent, [l.foreignId, l.seen]]))
    assert.deepEqual(seen.get('gone'), ['f-1', null])
    assert.deepEqual(seen.get('kept'), ['f-2', ids[1]])
  }),

  it('lowers what is there and never what was used', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const usage = { input: 70, output: 30, cost: 0.25 }
    const { ids } = await store.append(
      branch,
      null,
      [
        { ...say('question'), tokens: 5 },
        { ...say('answer', 'assistant'), tokens: 11 },
      ],
      { turn: { key: 'turn', step: 0, usage } },
    )
    const before = await store.getConversation(conversation.id)
    assert.deepEqual([before.messages, before.tokens, before.tokensUsed, before.cost], [2, 16, 100, 0.25])
    await store.deleteMessages([ids[1]!])
    const after = await store.getConversation(conversation.id)
    assert.deepEqual([after.messages, after.tokens, after.tokensUsed, after.cost], [1, 5, 100, 0.25])
    assert.ok(after.version > before.version, 'a deletion raises the version')
  }),

  it('refuses to touch a turn that is still open, and takes it once it has ended', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const turn = { key: 'running', step: 0, status: 'open', holder: holder(7) } as const
    const { head } = await store.append(branch, ids[2], [say('four')], { turn })
    const error = await rejects<BusyError>(store.deleteMessages([head]), 'busy')
    assert.deepEqual(error.holder, holder(7))
    await rejects(store.deleteMessages([ids[1]], { recursive: true }), 'busy')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'four'])
    await store.endTurn(conversation.id, 'running', { status: 'failed', heldBy: holder(7) })
    assert.equal((await store.deleteMessages([ids[1]], { recursive: true })).deleted, 3)
  }),

  it('takes a blob away with the last message that has it (S3-15)', async ({ store }) => {
    const { branch } = await store.create()
    const alone = 'alone '.repeat(4_000)
    const shared = 'shared '.repeat(4_000)
    const { ids } = await store.append(branch, null, [say(shared), say(alone), say(shared)])
    await store.deleteMessages([ids[1]!], { recursive: true })
    const error = await rejects<NotFoundError>(store.readBlob(sha256Hex(alone)), 'not_found')
    assert.equal(error.kind, 'blob')
    assert.deepEqual(await said(store, branch), [shared])
  }),

  it('does not let a retry bring back what was deleted', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    const turn = { key: 'turn', step: 0 }
    const { head } = await store.append(branch, ids[2], [say('four')], { turn })
    await store.deleteMessages([head])
    for (const expected of [ids[2], head]) {
      await rejects(store.append(branch, expected, [say('four')], { turn }), 'key_reused')
    }
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
  }),
]
