import type { Conv, EventRow } from './rows.ts'

interface InConv {
  readonly conv: Conv
}
interface EventParams extends InConv {
  readonly after: number
  readonly types: readonly string[] | null
  readonly limit: number
}

/** Statements of trace events, and of the approvals that are stored as such. */
export interface EventStatements {
  insertEvent: [InConv & { n: number; type: string; at: number; data: string }, never]
  setNextEvent: [InConv & { next_event: number }, never]
  setEventData: [InConv & { n: number; data: string }, never]
  events: [EventParams, EventRow]
  /** The events before one, newest first. */
  eventsDown: [Omit<EventParams, 'after'> & { below: number }, EventRow]
  /** Requests for approvals in conversations that are not in the trash, newest first. */
  approvalRequests: [{ limit: number }, EventRow & { conversation_id: string; conv: Conv }]
  /** Those of one conversation, newest first. */
  approvalRequestsOf: [InConv & { limit: number }, EventRow]
  /** The answers, oldest first. */
  approvalAnswersOf: [InConv, EventRow]
}
