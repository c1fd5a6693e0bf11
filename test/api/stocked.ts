import type { NewBlock } from '../../src/core/block.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** A block of an unknown type. */
export const citation = {
  type: 'citation',
  sources: [{ url: 'https://example.org', at: [1, 2] }],
  deep: { a: null },
}
const blocks: readonly NewBlock[] = [
  { type: 'thinking', text: 'hm', metadata: { signature: 'x' } },
  { type: 'text', text: 'I look', modality: 'text', mime: 'text/markdown' },
  { type: 'tool_call', callId: 'c1', name: 'bash', input: null },
  citation,
]

/** A store with one conversation of every kind of message. */
export async function stocked() {
  const store = await openSqliteStore(':memory:')
  const { conversation, branch } = await store.create({
    title: 'Storm',
    key: 'cli:storm',
    task: 'GW-12',
    project: 'gateway',
    prompt: 'Be brief.',
    ttlMs: 86_400_000,
    expiresAt: new Date('2031-01-01T00:00:00Z'),
  })
  const { ids } = await store.append(
    branch,
    null,
    [
      { role: 'user', content: 'Use full jitter' },
      { role: 'assistant', content: blocks, metadata: { finish: 'length' } },
      { role: 'tool', content: [{ type: 'tool_result', callId: 'c1', output: null, isError: true }] },
      { role: 'user', content: [{ type: 'image', mime: 'image/png', data: 'A'.repeat(40_000) }] },
    ],
    { turn: { key: 't1', step: 0, model: 'scripted', usage: { input: 10, output: 5 } } },
  )
  await store.createBranch(conversation.id, ids[0], { name: 'side', title: 'Aside' })
  const { items } = await store.listConversations()
  const messages = await store.getMessages(ids, { blobs: 'preview' })
  const [turn] = (await store.listTurns(conversation.id)).items
  return { store, branch, messages, turn: turn!, listed: items[0]! }
}
