import type { MessageId } from './ids.ts'
import type { Message } from './message.ts'
import type { ReadOptions } from './ports.ts'
import type { Turn } from './turn.ts'

/** Which part of a path to read. */
export interface PathSectionOptions extends ReadOptions {
  /** The depth of the first message; the root has depth 0. Default: so that the section ends with `before`,
   *  or with the path. */
  readonly from?: number
  /** The depth behind the last message. Default: `from` plus the limit, or the end of the path. */
  readonly before?: number
  /** Most messages, 1 to 1,000. Default: 100. */
  readonly limit?: number
}

/** Consecutive messages of a path, with everything that is shown with them. */
export interface PathSection {
  /** In order of depth. */
  readonly messages: readonly Message[]
  /** The number of messages on the whole path. */
  readonly pathMessages: number
  /** The turns of the messages, oldest first. `Message.turn` is the `first` of its turn. */
  readonly turns: readonly Turn[]
  /** The messages of the section that have siblings. */
  readonly siblings: readonly SiblingMessages[]
  /** When the tools of the section ran, as far as they were traced. */
  readonly toolTimes: readonly ToolTime[]
}

/** A message and the other messages with the same parent. */
export interface SiblingMessages {
  /** A message of the section. */
  readonly messageId: MessageId
  /** All children of its parent, itself included, in the order in which they were stored. At most 100. */
  readonly siblings: readonly MessageId[]
}

/** When a tool call ran. */
export interface ToolTime {
  /** The message with the call, or null if the trace does not name it. */
  readonly messageId: MessageId | null
  /** The id of the call. */
  readonly callId: string
  /** When the tool was started. */
  readonly startedAt: Date
  /** When it ended. Null while it runs, or if its end was not traced. */
  readonly endedAt: Date | null
}

/** Reads parts of a path. */
export interface PathSectionReader {
  /** Reads a section of the path that ends with this message. Takes time in proportion to the section and to
   *  the number of runs between the section and the end of the path, not to the path. Throws
   *  NotFoundError. */
  readPathSection(end: MessageId, options?: PathSectionOptions): Promise<PathSection>
}
