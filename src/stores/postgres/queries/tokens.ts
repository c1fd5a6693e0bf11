import type { Queries } from '../../engine/statements.ts'

const tokenColumns = `tenant, id, name, scopes, created_at, expires_at, revoked_at`

/** Tokens of the HTTP service. */
export const tokenQueries = {
  insertToken: `
    INSERT INTO skein.tokens (tenant, hash, id, name, scopes, created_at, expires_at)
    VALUES (
      @tenant::text, @hash::text, @id::text, @name::text, @scopes::text, @now::bigint, @expires_at::bigint)
    ON CONFLICT (hash) DO NOTHING`,
  // The token names the tenant: a caller without a token has none yet.
  tokenByHash: `SELECT ${tokenColumns} FROM skein.tokens WHERE hash = @hash::text`,
  listTokens: `
    SELECT ${tokenColumns} FROM skein.tokens
    WHERE tenant = @tenant::text AND (created_at, id) > (@created_at::bigint, @id::text)
    ORDER BY created_at, id LIMIT @limit::bigint`,
  revokeToken: `
    UPDATE skein.tokens SET revoked_at = coalesce(revoked_at, @now::bigint)
    WHERE tenant = @tenant::text AND id = @id::text
    RETURNING ${tokenColumns}`,
} satisfies Partial<Queries>
