import type { Page, PageOptions } from './listing.ts'

/** What a token allows: `read` conversations, `write` them, `ask` models (which costs money), and `admin`:
 *  tokens, import of whole stores, erasing, metrics. */
export type TokenScope = 'read' | 'write' | 'ask' | 'admin'

/** All scopes, in this order. */
export const tokenScopes: readonly TokenScope[] = ['read', 'write', 'ask', 'admin']

/** A token of the HTTP service, without its secret, which is not stored. */
export interface AccessToken {
  /** Names the token in lists and commands. Not secret. */
  readonly id: string
  /** What the token is for, as its creator called it. */
  readonly name: string
  /** The tenant whose conversations it opens. Always `default` in a SQLite file. */
  readonly tenant: string
  /** What it allows. */
  readonly scopes: readonly TokenScope[]
  /** When it was created. */
  readonly createdAt: Date
  /** When it stops working. Null: never. */
  readonly expiresAt: Date | null
  /** When it was revoked. Null if it was not. */
  readonly revokedAt: Date | null
}

/** A token to store. */
export interface NewAccessToken {
  /** SHA-256 of the secret, in hexadecimal. */
  readonly hash: string
  /** What the token is for. */
  readonly name: string
  /** What it allows. */
  readonly scopes: readonly TokenScope[]
  /** Default: it does not expire. */
  readonly expiresAt?: Date
}

/** Stores tokens of the HTTP service. They are not part of conversations: `copy` and `export` leave them
 *  out. */
export interface TokenKeeper {
  /** Stores a token of the store's own tenant. Throws KeyReusedError if the hash is stored already. */
  addToken(token: NewAccessToken): Promise<AccessToken>
  /** The token with this hash, of any tenant, also if it has expired or was revoked; null if there is
   *  none. */
  findToken(hash: string): Promise<AccessToken | null>
  /** The tokens of the store's own tenant, oldest first. */
  listTokens(page?: PageOptions): Promise<Page<AccessToken>>
  /** Revokes a token by its id. Throws NotFoundError. */
  revokeToken(id: string): Promise<AccessToken>
}
