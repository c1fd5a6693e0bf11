import { InvalidError } from './errors.ts'

declare const brand: unique symbol

/** A UUID in lower case. A plain string is accepted too, and checked; a message id is not. */
export type ConversationId = string & { readonly [brand]?: 'conversation' }

/** 32 characters of lower-case base32: the first 160 bits of a hash over the message and its ancestors. */
export type MessageId = string & { readonly [brand]?: 'message' }

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const base32 = /^[a-z2-7]{32}$/

/** Whether a stored text has the length and the characters of a conversation id. Lists check each row, and
 *  the pattern takes three times as long. */
export function looksLikeConversationId(text: string): boolean {
  if (text.length !== 36) return false
  for (let i = 0; i < 36; i++) {
    const code = text.charCodeAt(i)
    // 0 to 9, a to f, -
    if (!((code >= 48 && code <= 57) || (code >= 97 && code <= 102) || code === 45)) return false
  }
  return true
}

/** The same for the id of a message. */
export function looksLikeMessageId(text: string): boolean {
  if (text.length !== 32) return false
  for (let i = 0; i < 32; i++) {
    const code = text.charCodeAt(i)
    // a to z, 2 to 7
    if (!((code >= 97 && code <= 122) || (code >= 50 && code <= 55))) return false
  }
  return true
}

/** Reads a conversation id. Throws InvalidError if the text is not a UUID. */
export function conversationId(text: string, field = 'conversation id'): ConversationId {
  const lower = typeof text === 'string' ? text.toLowerCase() : text
  if (typeof lower !== 'string' || !uuid.test(lower)) throw new InvalidError(field, 'must be a UUID')
  return lower as ConversationId
}

/** Reads a message id. Throws InvalidError if the text is not 32 characters of base32. */
export function messageId(text: string, field = 'message id'): MessageId {
  if (typeof text !== 'string' || !base32.test(text)) {
    throw new InvalidError(field, 'must be 32 characters of lower-case base32')
  }
  return text as MessageId
}

/** What an id, a name or a key can be looked up for. */
export type NotFoundKind =
  | 'conversation'
  | 'message'
  | 'branch'
  | 'turn'
  | 'blob'
  | 'summary'
  | 'key'
  | 'id'
  | 'token'
  | 'task'
  | 'dispatch'
  | 'approval'
