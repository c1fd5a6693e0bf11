import { createHash } from 'node:crypto'
import { InvalidError } from '../../core/errors.ts'
import { type ConversationId, conversationId } from '../../core/ids.ts'

/** The header that names a write, for the OpenAPI document. */
export const idempotencyHeader = {
  'Idempotency-Key': 'Names the request, so that a retry is answered from the store. 1 to 200 characters.',
} as const

/** The `Idempotency-Key` of a request, or null. Throws InvalidError. */
export function idempotencyKey({ headers }: Request): string | null {
  const key = headers.get('idempotency-key')
  if (key === null) return null
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw new InvalidError('Idempotency-Key', 'must be 1 to 200 visible ASCII characters')
  return key
}

/** The key of the turn that a request with this key writes. */
export function turnKeyOf(key: string): string {
  return `http:${key}`
}

/** The id of the conversation that a request with this key creates: the same for the same tenant and key. */
export function idFromKey(tenant: string, key: string): ConversationId {
  const hex = createHash('sha256')
    .update(JSON.stringify(['skein http', tenant, key]))
    .digest('hex')
  // The version and variant of a UUID that is made by its own rules (RFC 9562, version 8).
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`]
  return conversationId([...parts, hex.slice(20, 32)].join('-'))
}
