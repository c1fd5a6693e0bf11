import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { NonEmpty } from '../../core/message.ts'
import { type PreparedMessage, titleOfMessages } from '../../core/prepare.ts'
import { fold } from '../../core/search/fold.ts'
import { type Program, run } from '../engine/engine.ts'
import type { PositionRow } from '../engine/rows.ts'
import { beforeRoots, growthOf, insertMessage } from './insert-message.ts'
import { lockLiving, needMessage, needMessageIn } from './lookup.ts'

export interface PreparedItem {
  readonly message: PreparedMessage
  readonly parent: MessageId | { readonly item: number } | null
}

/** Stores messages under any parents. No branch moves. */
export function* save(
  id: ConversationId,
  items: NonEmpty<PreparedItem>,
  now: number,
): Program<NonEmpty<MessageId>> {
  const conversation = yield* lockLiving(id)
  const { conv } = conversation
  const placed: (PositionRow & { id: MessageId })[] = []
  const twins = new Map<string, number>()
  let tokens = 0
  for (const { message, parent } of items) {
    const above =
      parent === null
        ? beforeRoots
        : typeof parent === 'object'
          ? placed[parent.item]!
          : yield* needMessageIn(id, parent)
    const seq = conversation.next_seq + placed.length
    const slot = { conv, conversationId: id, seq, turn: null, step: null, now, twins }
    placed.push(yield* insertMessage(message, above, slot))
    tokens += message.tokens
  }
  const title = titleOfMessages(items.map(({ message }) => message))
  yield* run(growthOf(conversation), {
    conv,
    next_seq: conversation.next_seq + placed.length,
    added: placed.length,
    tokens,
    tokens_used: 0,
    cost: 0,
    title,
    title_folded: title === null ? null : fold(title),
    now,
  })
  return placed.map(place => place.id) as unknown as NonEmpty<MessageId>
}

export function* setLabel(id: MessageId, label: string | null): Program<void> {
  const found = yield* needMessage(id)
  const { conv } = yield* lockLiving(found.conversation_id as ConversationId)
  yield* run('setLabel', { conv, seq: found.seq, label })
  yield* run('bumpVersion', { conv })
}
