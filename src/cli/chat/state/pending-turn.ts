import { answerEnding } from '../../../api/answer-ending.ts'
import type { MessageId } from '../../../core/ids.ts'
import type { Message } from '../../../core/message.ts'
import type { MessageReader } from '../../../core/ports.ts'
import { unsavedIn } from '../../../recorder/waiting-turns.ts'
import { plural } from '../../output/number.ts'
import { unansweredAt } from '../../target/branch-status.ts'
import type { ChatController } from './chat-controller.ts'

/** What an empty line resumes. */
export type PendingTurn =
  /** The last messages of the user have no answer. */
  | { readonly what: 'questions'; readonly count: number }
  /** The last answer is incomplete. Null: it is not stored yet. */
  | { readonly what: 'answer'; readonly message: MessageId | null }
  /** Calls of the last answer wait for an approval. */
  | { readonly what: 'approvals'; readonly titles: readonly string[] }

/** What is pending at the position of a chat; null if the last answer is complete. */
export async function readPendingTurn({
  store,
  position,
}: Pick<ChatController, 'store' | 'position'>): Promise<PendingTurn | null> {
  try {
    if (!store) return null
    const waiting = unsavedIn(store).messages
    const at = await position()
    const [head] = at?.head ? await store.getMessages([at.head], { blobs: 'preview' }) : []
    const last = waiting.at(-1) ?? head
    if (last?.role === 'user') return { what: 'questions', count: await countAt(store, head, waiting.length) }
    if (at?.head && waiting.length === 0 && mayWait(head)) {
      const titles = (await store.listApprovals({ conversationId: head!.conversationId })).map(
        one => one.title,
      )
      if (titles.length > 0) return { what: 'approvals', titles: titles.toReversed() }
    }
    const ending = last?.role === 'assistant' ? answerEnding(last) : null
    const isBroken = ending === 'failed' || ending === 'interrupted'
    return isBroken ? { what: 'answer', message: waiting.length > 0 ? null : head!.id } : null
  } catch {
    // The next command reports the same error.
    return null
  }
}

/** Whether a path may end with calls that wait. */
function mayWait(head: Message | undefined): boolean {
  return head?.role === 'tool_result' || (head?.content.some(({ type }) => type === 'tool_call') ?? false)
}

async function countAt(
  store: Pick<MessageReader, 'getMessages'>,
  head: Message | undefined,
  waiting: number,
): Promise<number> {
  return waiting > 0 || head === undefined ? 1 : unansweredAt(store, head)
}

/** How to resume it: `your last message has no answer yet: press Enter to ask again`. */
export function pendingText(pending: PendingTurn): string {
  if (pending.what === 'answer') return 'press Enter to continue it'
  if (pending.what === 'approvals') {
    const [first, ...others] = pending.titles
    const more = others.length === 0 ? '' : ` and ${plural(others.length, 'more call')}`
    return `${first}${more} needs an approval: press Enter to decide`
  }
  const { count } = pending
  if (count === 1) return 'your last message has no answer yet: press Enter to ask again'
  return `your last ${count} messages have no answer yet: press Enter to ask again. /undo takes back the last one`
}

/** Said when a new message goes along with unanswered ones. */
export function sentAlongText(count: number): string {
  return `sent with ${plural(count, 'earlier message')} that ${count === 1 ? 'has' : 'have'} no answer`
}
