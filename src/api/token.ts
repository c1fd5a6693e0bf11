import type { AccessToken } from '../core/access-token.ts'
import type { JsonOf, tokenSchema } from './schema/index.ts'

/** A token as JSON, without its secret. */
export type TokenJson = JsonOf<typeof tokenSchema>

/** Maps a token to JSON. */
export function tokenJson(token: AccessToken): TokenJson {
  const { id, name, tenant, scopes, createdAt, expiresAt, revokedAt } = token
  return {
    id,
    name,
    tenant,
    scopes,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt?.toISOString() ?? null,
    revoked_at: revokedAt?.toISOString() ?? null,
  }
}
