import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader } from '../../core/ports.ts'
import { HttpError } from './http-error.ts'

/** The ETag of a conversation at a version. */
export function etagOf(version: number): string {
  return `"v${version}"`
}

/** The header that makes a write conditional, for the OpenAPI document. */
export const ifMatchHeader = {
  'If-Match': 'The ETag of the conversation that was read. 412 if it has changed since.',
} as const

/** Checks `If-Match` against the version of a conversation. Throws HttpError (412). A writer between this
 *  check and the write is not noticed: `expected_head` of an append is checked in its transaction. */
export async function checkIfMatch(
  { headers }: Request,
  store: Pick<ConversationReader, 'versionOf'>,
  id: ConversationId,
): Promise<void> {
  const given = headers.get('if-match')
  if (given === null) return
  const version = await store.versionOf(id)
  const tags = given.split(',').map(tag => tag.trim())
  if (tags.includes('*') || tags.includes(etagOf(version))) return
  throw new HttpError(412, 'precondition_failed', 'the conversation has changed since it was read', {
    members: { version },
    headers: { etag: etagOf(version) },
  })
}

/** Whether the client has this version already (`If-None-Match`). */
export function isNotModified({ headers }: Request, version: number): boolean {
  const given = headers.get('if-none-match')
  if (given === null) return false
  return given
    .split(',')
    .map(tag => tag.trim().replace(/^W\//, ''))
    .includes(etagOf(version))
}
