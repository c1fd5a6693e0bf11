import { strict as assert } from 'node:assert'
import type { BusyError, NotFoundError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import { collectPages } from '../../core/pages.ts'
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

/** The effects of a deletion on everything but messages. */
export const deletingEffectsCases: readonly ContractCase[] = [
  it('removes summaries that overlap the deleted messages, keeps the others and returns the number', async world => {
    const { store } = world
    const { conversation, ids } = await startConversation(store)
    const [one, two, three] = ids
    await summarise(store, conversation.id, [one, two], [one, three], [three, three])
    assert.equal((await store.deleteMessages([three])).summaries, 2)
    await assertSummarised(store, conversation.id, [one, two])
  }),

  it('keeps the summary of a branch when messages of another branch in between are deleted', async world => {
    const { store } = world
    const { id, ids } = await interleave(store)
    await summarise(store, id, [ids.a1, ids.a3], [ids.root, ids.b2])
    assert.equal((await store.deleteMessages([ids.b2], { recursive: true })).summaries, 1)
    await assertSummarised(store, id, [ids.a1, ids.a3])
  }),

  it('allows a range to be summarized again after it has changed', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await summarise(store, conversation.id, [ids[0], ids[2]])
    await store.deleteMessages([ids[2]])
    const { head } = await store.append(branch, ids[1], [say('three')])
    const range = { first: ids[0], last: head }
    assert.deepEqual(await store.claimSummary(conversation.id, range, holder(2)), { claimed: true })
  }),

  it('clears the seen message of an agent link if it is deleted, and keeps the link', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    const link = { directory: '/work', foreignId: 'f-1' }
    await store.setAgentLink(branch, { ...link, agent: 'gone', seen: ids[2] })
    await store.setAgentLink(branch, { ...link, agent: 'kept', foreignId: 'f-2', seen: ids[1] })
    await store.deleteMessages([ids[2]])
    const seen = new Map(
      (await collectPages(page => store.listAgentLinks(branch, page))).map(l => [
        l.agent,
        [l.foreignId, l.seen],
      ]),
    )
    assert.deepEqual(seen.get('gone'), ['f-1', null])
    assert.deepEqual(seen.get('kept'), ['f-2', ids[1]])
  }),

  it('lowers the stored totals but never the used tokens', async ({ store }) => {
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

  it('refuses to delete messages of an open turn and deletes them after it has ended', async ({ store }) => {
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

  it('removes a blob with the last message that refers to it (S3-15)', async ({ store }) => {
    const { branch } = await store.create()
    const alone = 'alone '.repeat(4_000)
    const shared = 'shared '.repeat(4_000)
    const { ids } = await store.append(branch, null, [say(shared), say(alone), say(shared)])
    await store.deleteMessages([ids[1]!], { recursive: true })
    const error = await rejects<NotFoundError>(store.readBlob(sha256Hex(alone)), 'not_found')
    assert.equal(error.kind, 'blob')
    assert.deepEqual(await said(store, branch), [shared])
  }),

  it('does not restore deleted messages on a retry', async ({ store }) => {
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
