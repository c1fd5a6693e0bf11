import type { ConversationId } from './ids.ts'
import type { JsonObject } from './json.ts'
import type { OrderedPageOptions } from './listing.ts'

export type EventType =
  | 'turn_started'
  | 'turn_ended'
  | 'tool_started'
  | 'tool_ended'
  | 'resume'
  | 'permission'
  | 'plan'
  | 'channel_edit'
  | 'channel_delete'
  | 'degraded'
  | 'recovered'

/** A trace record. No conversation is rebuilt from events. */
export interface TraceEvent {
  readonly conversationId: ConversationId
  /** Order within the conversation, from 0. */
  readonly n: number
  readonly type: EventType
  readonly createdAt: Date
  readonly data: JsonObject
}

export interface NewEvent {
  readonly type: EventType
  readonly createdAt?: Date
  readonly data?: object
}

/** Which events to list. */
export interface ListEvents extends OrderedPageOptions {
  /** Only events of these types. */
  readonly types?: readonly EventType[]
}
