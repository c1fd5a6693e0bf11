import type { BranchRef } from '../../core/branch.ts'
import { InvalidError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import { contentOf, type NewMessage } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, MessageReader } from '../../core/ports.ts'

/** What an agent is asked so that it goes on with an answer that was interrupted, and the message that this follows. */
export interface AskedAgain {
  readonly content: Pick<NewMessage, 'blocks'>
  readonly follows: MessageId | null
}

const nudge = '[Your last answer was interrupted. Go on where it stops.]'

/** A question that was not answered at all is asked again; of an answer that broke off, the rest is asked for. Nobody said so:
 *  it is in this prompt only. Throws InvalidError if the last turn came to its end. */
export async function askAgain(
  store: Pick<ConversationReader, 'getBranch'> & Pick<MessageReader, 'getMessages' | 'listTurns'>,
  branch: BranchRef,
): Promise<AskedAgain> {
  const { head } = await store.getBranch(branch)
  if (head === null) throw new InvalidError('conversation', 'there is nothing to resume: nothing was said')
  const [last] = await store.getMessages([head])
  const turns = await collectPages(page => store.listTurns(branch.conversationId, page))
  const turn = turns.find(({ first }) => first === last!.turn)
  if (turn?.status === 'complete')
    throw new InvalidError('conversation', 'there is nothing to resume: its last turn has come to its end')
  if (last!.role === 'user') return { content: { blocks: contentOf(last!) }, follows: last!.parentId }
  return { content: { blocks: nudge }, follows: head }
}
