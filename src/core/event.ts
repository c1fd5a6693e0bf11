import type { ConversationId } from './ids.ts'
import type { JsonObject } from './json.ts'
import type { OrderedPageOptions } from './listing.ts'

/** The kinds of trace records. The turns of a conversation are in `listTurns`, with times, status and usage;
 *  `turn_ended` is only written for agents of other programs, with their reason to stop. `message_erased`
 *  names the message, and tells followers. `agent_update` is news of another program's agent about itself,
 *  such as a notice or a compaction. `agent_settings` are the settings that were chosen for such an agent.
 *  `stop_requested` names a turn that its process should stop. `approval_requested` is a call that waits for
 *  an approval; `permission` has the answer.
 *  `channel_edit` and `channel_delete` are changes of a message in Discord. `turn_started` is for
 *  applications that trace more. */
export type EventType =
  | 'turn_started'
  | 'turn_ended'
  | 'tool_started'
  | 'tool_ended'
  | 'resume'
  | 'approval_requested'
  | 'permission'
  | 'plan'
  | 'agent_update'
  | 'agent_settings'
  | 'channel_edit'
  | 'channel_delete'
  | 'degraded'
  | 'recovered'
  | 'dispatch_started'
  | 'dispatch_ended'
  | 'message_erased'
  | 'stop_requested'

/** All types. A new one does not compile without an entry. */
const known: Readonly<Record<EventType, true>> = {
  turn_started: true,
  turn_ended: true,
  tool_started: true,
  tool_ended: true,
  resume: true,
  approval_requested: true,
  permission: true,
  plan: true,
  agent_update: true,
  agent_settings: true,
  channel_edit: true,
  channel_delete: true,
  degraded: true,
  recovered: true,
  dispatch_started: true,
  dispatch_ended: true,
  message_erased: true,
  stop_requested: true,
}

export const eventTypes = Object.keys(known) as readonly EventType[]

/** A trace record. No conversation is rebuilt from events. */
export interface TraceEvent {
  /** The conversation that was traced. */
  readonly conversationId: ConversationId
  /** Order within the conversation, from 0. */
  readonly n: number
  /** What happened. */
  readonly type: EventType
  /** When it happened. */
  readonly createdAt: Date
  /** Details, which depend on the type. `{}` if there are none. */
  readonly data: JsonObject
}

/** A trace record to add. */
export interface NewEvent {
  /** What happened. */
  readonly type: EventType
  /** Default: now. */
  readonly createdAt?: Date
  /** Default: `{}`. */
  readonly data?: object
}

/** Which events to list. */
export interface ListEvents extends OrderedPageOptions {
  /** Only events of these types. */
  readonly types?: readonly EventType[]
}
