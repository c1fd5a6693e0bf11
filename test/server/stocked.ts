import type { Store } from '../../src/core/ports.ts'
import { approvalIdOf, approvalRequestEvent } from '../../src/recorder/approval-request.ts'
import type { Things } from './operations.ts'

/** A PNG of one pixel, padded so that it becomes a blob. */
export const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010806000000', 'hex'),
  Buffer.alloc(20_000, 7),
])

/** Stores two conversations with a task, a blob, a turn and a prompt, one with a call that waits for an
 *  approval, and a queued task. */
export async function stock(store: Store, task = 'task-1'): Promise<Things> {
  const { conversation, branch } = await store.create({
    title: 'Harbour',
    task,
    prompt: 'Be brief.',
    metadata: { n: 1 },
  })
  const turn = 'turn-1'
  const image = { type: 'image', mime: 'image/png', data: png.toString('base64') } as const
  const { ids, head } = await store.append(
    branch,
    null,
    [
      { role: 'user', content: [{ type: 'text', text: 'hello there' }, image] },
      { role: 'assistant', content: 'Hello!' },
    ],
    { turn: { key: turn, step: 0, model: 'scripted', usage: { input: 3, output: 2 } } },
  )
  await store.append(branch, head, [{ role: 'user', content: 'And now?' }])
  const spare = await store.create({ title: 'Spare' })
  const { ids: spareIds } = await store.append(spare.branch, null, [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
  ])
  const [message] = await store.getMessages([ids[0]])
  const work = await store.submitTask({ project: 'web', description: 'Find the cause' })
  return {
    conversation: conversation.id,
    spare: spare.conversation.id,
    message: ids[0],
    leaf: spareIds.at(-1)!,
    task,
    blob: message!.blobs[0]!.hash,
    turn,
    work: work.id,
    ...(await waitingCall(store)),
  }
}

/** A conversation with a call that waits for an approval. */
async function waitingCall(store: Store): Promise<Pick<Things, 'waiting' | 'approval'>> {
  const { conversation, branch } = await store.create({ title: 'Waiting' })
  const call = { type: 'tool_call', callId: 'c1', name: 'deploy', input: { service: 'shop' } } as const
  const { head } = await store.append(
    branch,
    null,
    [
      { role: 'user', content: 'Deploy it' },
      { role: 'assistant', content: [call] },
    ],
    { turn: { key: 'waits', step: 0, status: 'interrupted' } },
  )
  const request = {
    ...{
      callId: 'c1',
      name: 'deploy',
      input: { service: 'shop' },
      kind: 'other' as const,
      title: 'deploy shop',
    },
    ...{ preview: null, reason: null, scope: 'deploy', conversationId: conversation.id, messageId: head },
    turn: 'waits',
  } as const
  await store.addEvents(conversation.id, [approvalRequestEvent(request, branch.name)!])
  return { waiting: conversation.id, approval: approvalIdOf(head, 'c1') }
}
