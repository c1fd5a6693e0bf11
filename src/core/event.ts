import type { ConversationId } from './ids.ts'
import type { JsonObject } from './json.ts'

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
  readonly at: Date
  readonly data: JsonObject
}

export interface NewEvent {
  readonly type: EventType
  readonly at?: Date
  readonly data?: JsonObject
}

export interface EventListing {
  /** Only events after this number. */
  readonly after?: number
  readonly types?: readonly EventType[]
  /** Returns the newest events up to the limit instead of the oldest, in ascending order. */
  readonly newest?: true
  /** Default: 1,000. Maximum: 100,000. `after` continues the list. */
  readonly limit?: number
}
