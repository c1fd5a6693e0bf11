import type { Erasure, Message } from '../core/message.ts'
import type { PathSection } from '../core/path-section.ts'
import type { Turn, Usage } from '../core/turn.ts'
import { cutReason } from './answer-ending.ts'
import { blockJson } from './block.ts'
import { endingAt, type IsLive, statusAt, turnUsageAt } from './path-facts.ts'
import type { JsonOf, messageSchema, storedMessageSchema } from './schema/index.ts'
import { usageJson } from './usage.ts'

/** A message of a path as JSON. */
export type MessageJson = JsonOf<typeof messageSchema>

/** A message by itself as JSON. */
export type StoredMessageJson = JsonOf<typeof storedMessageSchema>

/** What a path knows of a message. */
export interface MessageFacts {
  /** How its turn ended, at the last message of the turn; `complete` at the others. */
  readonly status: MessageJson['status']
  /** The model that answered, or null. */
  readonly model: string | null
  /** The usage of its turn, at the last answer of the turn. */
  readonly usage: Usage | null
  /** A name for each message with the same parent, itself included. Empty without siblings. */
  readonly siblings: readonly string[]
  /** The ids of these messages. */
  readonly siblingIds: readonly string[]
}

/** Maps a message of a path to JSON. */
export function messageJson(message: Message, facts: MessageFacts): MessageJson {
  return {
    ...placeJson(message),
    status: facts.status,
    stop: stopOf(message),
    model: message.role === 'assistant' ? facts.model : null,
    usage: facts.usage === null ? null : usageJson(facts.usage),
    label: message.label,
    siblings: facts.siblings,
    ...contentJson(message),
    sibling_ids: facts.siblingIds,
  }
}

/** Maps a message to JSON without facts of a path. */
export function storedMessageJson(message: Message): StoredMessageJson {
  return { ...placeJson(message), stop: stopOf(message), label: message.label, ...contentJson(message) }
}

/** Maps the messages of a section to JSON, in order. */
export function sectionJson(
  section: PathSection,
  options: {
    /** The model of the conversation, for turns that name none. */
    readonly model: string | null
    /** Whether an open turn is being answered. */
    readonly isLive: IsLive
    /** By message, the names of its siblings, from `nameSiblings`. Default: none. */
    readonly siblingNames?: ReadonlyMap<string, readonly string[]>
  },
): readonly MessageJson[] {
  const turns = new Map<number, Turn>(section.turns.map(turn => [turn.first, turn]))
  const siblings = new Map(section.siblings.map(one => [one.messageId, one.siblings]))
  return section.messages.map(message =>
    messageJson(message, {
      status: statusAt(endingAt(message, turns, options.isLive)),
      model: (message.turn === null ? undefined : turns.get(message.turn)?.model) ?? options.model,
      usage: turnUsageAt(message, { around: section.messages, turns }),
      siblings: options.siblingNames?.get(message.id) ?? [],
      siblingIds: siblings.get(message.id) ?? [],
    }),
  )
}

function placeJson({ id, parentId, seq, role, createdAt }: Message) {
  return { id, parent: parentId, seq, role, created_at: createdAt.toISOString() }
}

function contentJson(message: Message) {
  return {
    blocks: message.content.map(blockJson),
    tokens: message.tokens,
    meta: message.metadata,
    erased: message.erased && erasureJson(message.erased),
    conversation: message.conversationId,
    depth: message.depth,
    plain: message.plain,
    turn: message.turn,
    blobs: message.blobs.map(({ hash, bytes, pointer, whole }) => ({ hash, bytes, pointer, whole })),
  }
}

function stopOf({ role, metadata }: Message): MessageJson['stop'] {
  return role === 'assistant' ? cutReason(metadata?.finish) : null
}

function erasureJson({ erasedAt, by, reason }: Erasure) {
  return { at: erasedAt.toISOString(), by, reason }
}
