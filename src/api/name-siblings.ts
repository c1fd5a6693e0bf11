import type { BranchForks } from '../core/branch-forks.ts'
import { gistOf } from '../core/gist.ts'
import type { MessageId } from '../core/ids.ts'
import type { MessageReader } from '../core/ports.ts'

/** A name for each of the messages with the same parent: a branch that contains it, or its first words. */
export async function nameSiblings(
  store: Pick<MessageReader, 'getMessages'>,
  forks: Pick<BranchForks, 'siblings'>,
  messageId: MessageId,
): Promise<readonly string[]> {
  const names: string[] = []
  for (const { id, branches } of forks.siblings(messageId))
    names.push(branches[0] ?? (await firstWords(store, id as MessageId)))
  return names
}

async function firstWords(store: Pick<MessageReader, 'getMessages'>, id: MessageId): Promise<string> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  return message ? gistOf(message).split(' ').slice(0, 3).join(' ') : id
}
