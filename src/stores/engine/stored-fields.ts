import { CorruptError } from '../../core/errors.ts'
import { type ConversationId, conversationId, type MessageId, messageId } from '../../core/ids.ts'

/** The values of columns that hold JSON, a time or an id. A damaged file, or a change by other means, may
 *  have left something else there. Then these functions throw CorruptError with the name of the field
 *  ("metadata") and its owner ("conversation 01a2…"). */

export function storedObject<T extends object>(text: string, field: string, owner: string): T {
  const value = parsed(text, field, owner)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unreadable(field, owner, 'not an object')
  return value as T
}

export function storedList<T>(text: string, field: string, owner: string): T[] {
  const value = parsed(text, field, owner)
  if (!Array.isArray(value)) throw unreadable(field, owner, 'not a list')
  return value
}

export function storedText(text: string, field: string, owner: string): string {
  const value = parsed(text, field, owner)
  if (typeof value !== 'string') throw unreadable(field, owner, 'not a text')
  return value
}

export function parsed(text: string, field: string, owner: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw unreadable(field, owner, (cause as Error).message, cause)
  }
}

export function storedDate(time: number, field: string, owner: string): Date {
  if (!isTime(time)) throw unreadable(field, owner, `${time} is not a time`)
  return new Date(time)
}

const latestDate = 8_640_000_000_000_000

/** Whether a date can have this time. Null is fine where a time may be missing. */
export function isTime(time: number | null): boolean {
  return time === null || (time >= -latestDate && time <= latestDate)
}

export function storedDateOrNull(time: number | null, field: string, owner: string): Date | null {
  return time === null ? null : storedDate(time, field, owner)
}

export function storedConversationId(id: string): ConversationId {
  try {
    return conversationId(id)
  } catch (cause) {
    throw unreadable('id', `conversation ${id}`, (cause as Error).message, cause)
  }
}

export function storedMessageIdOrNull(id: string | null, field: string, owner: string): MessageId | null {
  if (id === null) return null
  try {
    return messageId(id)
  } catch (cause) {
    throw unreadable(field, owner, (cause as Error).message, cause)
  }
}

function unreadable(field: string, owner: string, reason: string, cause?: unknown): CorruptError {
  return new CorruptError(`the ${field} of ${owner} cannot be read: ${reason}`, { cause })
}
