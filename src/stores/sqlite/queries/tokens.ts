import type { Queries } from '../../engine/statements.ts'

/** A file has one tenant. */
const tokenColumns = `'default' AS tenant, id, name, scopes, created_at, expires_at, revoked_at`

export const tokenQueries = {
  insertToken: `
    INSERT INTO skein_tokens (hash, id, name, scopes, created_at, expires_at)
    VALUES (@hash, @id, @name, @scopes, @now, @expires_at)
    ON CONFLICT (hash) DO NOTHING`,
  tokenByHash: `SELECT ${tokenColumns} FROM skein_tokens WHERE hash = @hash`,
  listTokens: `
    SELECT ${tokenColumns} FROM skein_tokens
    WHERE (created_at, id) > (@created_at, @id) ORDER BY created_at, id LIMIT +@limit`,
  revokeToken: `
    UPDATE skein_tokens SET revoked_at = coalesce(revoked_at, @now) WHERE id = @id RETURNING ${tokenColumns}`,
} satisfies Partial<Queries>
