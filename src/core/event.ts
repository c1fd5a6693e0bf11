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

/** A trace record. Nothing reads one to rebuild a conversation. */
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
  /** Only events behind this one. */
  readonly after?: number
  readonly types?: readonly EventType[]
  /** The newest ones up to the limit, instead of the oldest; in order all the same. */
  readonly newest?: true
  /** 1,000 unless said otherwise, 100,000 at most; go on with `after`. */
  readonly limit?: number
}
