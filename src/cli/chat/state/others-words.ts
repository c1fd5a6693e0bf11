import type { Reply } from '../../../agent/run/events.ts'
import type { MessageId } from '../../../core/ids.ts'
import { type Message, textOf } from '../../../core/message.ts'
import type { MessageReader } from '../../../core/ports.ts'
import { unsavedIn } from '../../../recorder/waiting-turns.ts'
import type { Output } from '../../output/output.ts'
import { proseWidth, wrap } from '../../output/wrap.ts'
import type { Chat } from './chat-state.ts'

/** The end of a branch as the user of a chat has seen it. */
export interface SeenEnd {
  readonly conversationId: string
  readonly branch: string
  readonly head: MessageId | null
}

/** Most messages to look through, and most lines of each to show. */
const most = { messages: 50, lines: 8 } as const

/** Remembers the end of the branch after a turn. If messages of this chat still wait for the store, the end
 *  is unknown: they would look like another process's words later. */
export function rememberEnd(
  chat: Chat,
  { saved, branch, head }: Pick<Reply, 'saved' | 'branch' | 'head'>,
): void {
  chat.seen = saved && branch ? { conversationId: branch.conversationId, branch: branch.name, head } : null
}

/** The same after a failed turn, which has no reply. */
export async function rememberFailedEnd(chat: Chat): Promise<void> {
  const { store } = chat.controller
  const position = store && unsavedIn(store).reason === null ? await chat.controller.position() : null
  rememberEnd(chat, {
    saved: position !== null,
    branch: position?.branch ?? null,
    head: position?.head ?? null,
  })
}

/** Shows what other processes have added to the branch since the user last saw its end. `ownPrompt`: the head
 *  is the message that this chat has just sent. */
export async function showOthersWords(
  chat: Chat,
  { ownPrompt }: { readonly ownPrompt: boolean },
): Promise<void> {
  const { controller, context, seen } = chat
  const { store } = controller
  const position = store === null ? null : await controller.position()
  if (!store || !position) return
  const { conversationId, name } = position.branch
  const isSame = seen?.conversationId === conversationId && seen.branch === name
  const end = ownPrompt ? await parentOf(store, position.head) : position.head
  const isWaiting = unsavedIn(store).reason !== null
  chat.seen = isWaiting ? null : { conversationId, branch: name, head: position.head }
  if (isWaiting || !isSame || seen.head === null || context.quiet || end === seen.head) return
  const messages = await messagesAfter(store, seen.head, end)
  if (messages === null || messages.length === 0) return
  const were = messages.length === 1 ? 'message was' : 'messages were'
  chat.note(`${messages.length} ${were} added here by another process:`)
  for (const message of messages) for (const line of wordsOf(message, context.err)) chat.say(line)
  context.err.line()
}

/** The messages after `from` up to `to`, oldest first; null if `from` does not precede `to`. */
async function messagesAfter(
  store: Pick<MessageReader, 'getMessages'>,
  from: MessageId,
  to: MessageId | null,
): Promise<readonly Message[] | null> {
  const messages: Message[] = []
  for (let id = to; id !== from; ) {
    const [message] = id === null ? [] : await store.getMessages([id], { blobs: 'preview' })
    if (!message || messages.length === most.messages) return null
    messages.unshift(message)
    id = message.parentId
  }
  return messages
}

async function parentOf(
  store: Pick<MessageReader, 'getMessages'>,
  id: MessageId | null,
): Promise<MessageId | null> {
  const [message] = id === null ? [] : await store.getMessages([id], { blobs: 'preview' })
  return message?.parentId ?? null
}

function wordsOf(message: Message, { style, width }: Output): readonly string[] {
  const text = textOf(message).trim()
  if (text === '') return []
  const { prompt, dots } = style.symbols
  const mark = message.role === 'user' ? `${prompt} ` : '  '
  const lines = wrap(style.safe(text), Math.min(width, proseWidth) - 5)
  const shown = lines.slice(0, most.lines)
  if (lines.length > most.lines) shown.push(`${dots} /history`)
  return shown.map((line, i) => style.faint(`  ${i === 0 ? mark : '  '}${line}`))
}
