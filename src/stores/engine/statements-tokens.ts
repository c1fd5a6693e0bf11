import type { TokenRow } from './rows.ts'

/** Statements of tokens. */
export interface TokenStatements {
  /** Writes nothing if the hash is stored already. */
  insertToken: [
    { hash: string; id: string; name: string; scopes: string; now: number; expires_at: number | null },
    never,
  ]
  /** Finds a token of any tenant: the only statement without a condition on the tenant. */
  tokenByHash: [{ hash: string }, TokenRow]
  /** The tokens after one of them, oldest first. */
  listTokens: [{ created_at: number; id: string; limit: number }, TokenRow]
  /** Sets the time once: a second revocation changes nothing. */
  revokeToken: [{ id: string; now: number }, TokenRow]
}
