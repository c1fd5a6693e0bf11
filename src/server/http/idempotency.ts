import { z } from 'zod'
import { InvalidError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import { type ConversationId, conversationId } from '../../core/ids.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { Turn } from '../../core/turn.ts'

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

const turnPrefix = 'http:'

/** The key of the turn that a request with this key writes. */
export function turnKeyOf(key: string): string {
  return `${turnPrefix}${key}`
}

/** The part of an address that names a turn, for the OpenAPI document. */
export const turnKeyParam = z
  .string()
  .describe('the key of a turn, or the Idempotency-Key of the request that began it')

/** The turn that an address names: by its own key, or by the Idempotency-Key of its request. */
export async function findNamedTurn(
  store: Pick<MessageReader, 'findTurn'>,
  id: ConversationId,
  name: string,
): Promise<Turn | null> {
  const turn = await store.findTurn(id, name)
  return turn === null && !name.startsWith(turnPrefix) ? store.findTurn(id, turnKeyOf(name)) : turn
}

/** The name of the branch that a reset with this key leaves behind. */
export function archiveNameOf(key: string): string {
  return `before-reset:${key}`
}

/** The id of the conversation that a request with this key and body creates. */
export interface KeyedId {
  /** The same for the same tenant, key and body. */
  readonly id: ConversationId
  /** Its beginning, which is the same for the same tenant and key. */
  readonly prefix: string
  /** The id that earlier versions made, of the tenant and the key alone. */
  readonly formerId: ConversationId
}

/** Makes the id of a conversation from the key and the body of the request that creates it. The store then
 *  tells a retry from another request with the same key, also after the conversation was changed. */
export function idFromKey(tenant: string, key: string, body: unknown): KeyedId {
  const hex = sha256Hex(JSON.stringify(['skein http', tenant, key]))
  // The version and variant of a UUID that is made by its own rules (RFC 9562, version 8).
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`]
  const prefix = `${parts.join('-')}-`
  return {
    prefix,
    id: conversationId(prefix + sha256Hex(JSON.stringify(sorted(body))).slice(0, 12)),
    formerId: conversationId(prefix + hex.slice(20, 32)),
  }
}

/** The same value with the members of its objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const)
  return members.toSorted(([a], [b]) => (a < b ? -1 : 1))
}
