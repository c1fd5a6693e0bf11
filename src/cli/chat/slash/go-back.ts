import type { BranchRef } from '../../../core/branch.ts'
import { InvalidError } from '../../../core/errors.ts'
import type { MessageId } from '../../../core/ids.ts'
import { type Message, textOf } from '../../../core/message.ts'
import type { MessageReader } from '../../../core/ports.ts'
import { moveKey } from '../../target/move-key.ts'
import { branchAt } from '../../target/planned-fork.ts'
import type { Chat } from '../state/chat-state.ts'
import { here } from './slash-command.ts'

/** The person's last message on the path. Throws InvalidError if there is none. */
export async function lastPrompt(
  store: Pick<MessageReader, 'tail'>,
  head: MessageId | null,
): Promise<Message> {
  const { messages } = head === null ? { messages: [] } : await store.tail(head, { messages: 1 })
  const prompt = messages.findLast(message => message.role === 'user')
  if (!prompt) throw new InvalidError('conversation', 'you have said nothing on this branch yet')
  return prompt
}

/** Goes back before a message, on a branch of its own: what was said stays on the old one. A key moves along, so that
 *  whoever comes back by it finds the chat where it was left. */
export async function goBackBefore(chat: Chat, prompt: Message): Promise<BranchRef> {
  const { store, conversation, branch } = await here(chat)
  const from = await store.getBranch(branch).catch(() => null)
  const made = await branchAt(store, conversation.id, prompt.parentId, branch.name)
  await store.activateBranch(made)
  if (from?.key) await moveKey(store, from.key, made)
  chat.talker.goToBranch(made)
  return made
}

/** What a person wrote, to be written again. Throws InvalidError for words that are only a file. */
export function wordsOf(prompt: Message): string {
  const text = textOf(prompt)
  if (text.trim() === '') throw new InvalidError('message', 'your last message has no words')
  return text
}
