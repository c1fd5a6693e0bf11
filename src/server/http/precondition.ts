import type { ConditionalWriter, ConditionalWrites } from '../../core/conditional-writer.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader } from '../../core/ports.ts'

/** The ETag of a conversation at a version. */
export function etagOf(version: number): string {
  return `"v${version}"`
}

/** The header that makes a write conditional, for the OpenAPI document. */
export const ifMatchHeader = {
  'If-Match':
    'The ETag of the conversation that was read. 412 if it has changed since: compared in the transaction.',
} as const

/** The writes to a conversation under the `If-Match` of a request. Each compares the version in its own
 *  transaction and throws PreconditionFailedError (412). */
export async function writesIfMatch(
  { headers }: Request,
  store: ConditionalWrites & ConditionalWriter & Pick<ConversationReader, 'versionOf'>,
  id: ConversationId,
): Promise<ConditionalWrites> {
  const given = headers.get('if-match')
  if (given === null) return store
  const tags = given.split(',').map(tag => tag.trim())
  const versions = tags.flatMap(tag => {
    const [, version] = /^"v(\d{1,15})"$/.exec(tag) ?? []
    return version === undefined ? [] : [Number(version)]
  })
  if (!tags.includes('*')) return store.ifVersion(id, versions)
  // Any version, as long as there is one.
  await store.versionOf(id)
  return store
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
