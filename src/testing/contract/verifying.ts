import { strict as assert } from 'node:assert'
import type { Finding } from '../../core/finding.ts'
import type { Store } from '../../core/ports.ts'
import { appendTexts, casesOf, holder, noConversation, say, startConversation, summarise } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('verifying')

/** The findings and counts of `verify`. */
async function found(
  store: Store,
  options: Parameters<Store['verify']>[0] = {},
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  await store.verify({ ...options, onFinding: finding => findings.push(finding) })
  return findings
}

export const verifyingCases: readonly ContractCase[] = [
  it('finds nothing in a store on which every operation was run (R6)', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store, {
      tags: ['a', 'b'],
      metadata: { k: 1 },
      prompt: 'Be brief.',
    })
    const { id } = conversation
    const large = 'large '.repeat(20_000)
    await appendTexts(store, branch, large)
    await store.createBranch(id, ids[0], { name: 'fork', key: 'a key' })
    const fork = { conversationId: id, name: 'fork' }
    await appendTexts(store, fork, 'to be deleted', 'this too')
    await appendTexts(store, fork, 'to be erased')
    const { items } = await store.listMessages({ conversationId: id, order: 'ascending', limit: 100 })
    const [deleted, , erased] = items.slice(4)
    await store.search('one')
    await summarise(store, id, [ids[0], ids[2]])
    await store.setAgentLink(fork, { agent: 'a', directory: '/d', foreignId: 'f', seen: ids[0] })
    await store.addEvents(id, [{ type: 'plan', data: {} }])
    await store.eraseMessages([erased!.id], { by: 'me', reason: 'because' })
    await store.deleteMessages([deleted!.id], { recursive: true })
    const { head } = await store.getBranch(branch)
    const turn = { key: 'turn', step: 0, holder: holder(), status: 'open' as const }
    await store.append(branch, head, [say('a question')], { turn })
    await store.putDraft(id, 'turn', holder(), [{ n: 0, type: 'text', text: 'half an ans' }])
    const other = await startConversation(store)
    await store.trash(other.conversation.id)
    clock.now += 1_000
    assert.deepEqual(await found(store), [])
  }),
  it('counts what it has checked and reports progress', async ({ store }) => {
    const { ids } = await startConversation(store)
    await startConversation(store)
    await store.eraseMessages([ids[1]], { by: 'me', reason: 'because' })
    const steps: number[] = []
    const result = await store.verify({ onProgress: ({ messages, total }) => steps.push(messages, total) })
    assert.deepEqual(result, {
      ...{ conversations: 2, messages: 6, erased: 1, blobs: 0, damaged: 0 },
      findings: { damage: 0, repairable: 0, note: 0 },
    })
    assert.deepEqual(steps, [3, 6, 6, 6])
  }),
  it('checks the given conversations and reports a missing one', async ({ store }) => {
    const { conversation } = await startConversation(store)
    await startConversation(store)
    const { messages } = await store.verify({ conversations: [conversation.id] })
    assert.equal(messages, 3)
    const [finding] = await found(store, { conversations: [noConversation] })
    assert.deepEqual([finding?.severity, finding?.conversation], ['damage', noConversation])
  }),
  it('checks a sample: the newest messages of the most recently used conversations', async ({
    store,
    clock,
  }) => {
    await startConversation(store)
    clock.now += 1_000
    const { branch } = await startConversation(store)
    await appendTexts(store, branch, ...Array.from({ length: 9 }, (_, i) => `${i}`))
    const { messages, conversations } = await store.verify({ sampleSize: 5 })
    assert.deepEqual([messages, conversations], [5, 1])
    assert.equal((await store.verify({ sampleSize: 14 })).messages, 14)
  }),
  it('notes a call without a result, unless its turn is incomplete', async ({ store }) => {
    const { branch } = await store.create()
    const call = (callId: string) =>
      ({ role: 'assistant', content: [{ type: 'tool_call', callId, name: 'look', input: {} }] }) as const
    const result = {
      role: 'tool_result',
      content: [{ type: 'tool_result', callId: 'a', output: 1 }],
    } as const
    const { ids } = await store.append(branch, null, [say('go'), call('a'), result, call('b')])
    const turn = { key: 't', step: 0, holder: holder(), status: 'interrupted' as const }
    await store.append(branch, ids[3]!, [say('again'), call('c')], { turn })
    const findings = await found(store)
    assert.deepEqual(
      findings.map(({ severity, message, seq }) => [severity, message, seq]),
      [['note', ids[3], 3]],
    )
  }),
  it('stops when it is aborted', async ({ store }) => {
    await startConversation(store)
    await assert.rejects(store.verify({ signal: AbortSignal.abort() }), { name: 'AbortError' })
  }),
]
