import {
  type AccessToken,
  type NewAccessToken,
  type TokenScope,
  tokenScopes,
} from '../../core/access-token.ts'
import { KeyReusedError, NotFoundError } from '../../core/errors.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import { all, countChanges, first, type Program } from '../engine/engine.ts'
import type { TokenRow } from '../engine/rows.ts'
import { storedDate, storedDateOrNull, storedList } from '../engine/stored-fields.ts'
import { defaultLimit, pageOf, readCursor } from './cursor.ts'

export function* addToken(token: NewAccessToken & { id: string }, now: number): Program<AccessToken> {
  const { hash, id, name } = token
  const scopes = JSON.stringify(tokenScopes.filter(scope => token.scopes.includes(scope)))
  const expires_at = token.expiresAt?.getTime() ?? null
  const added = yield* countChanges('insertToken', { hash, id, name, scopes, now, expires_at })
  if (added === 0) throw new KeyReusedError(name, 'a token with the same secret is stored already')
  return (yield* findToken(hash))!
}

export function* findToken(hash: string): Program<AccessToken | null> {
  const row = yield* first('tokenByHash', { hash })
  return row ? tokenFromRow(row) : null
}

/** A page of the tokens. The cursor is the time and the id of the last one. */
export function* listTokens(page: PageOptions): Program<Page<AccessToken>> {
  const { limit = defaultLimit, after } = page
  const [created_at, id] = after === undefined ? [-1, ''] : readCursor(after, ['number', 'string'])
  const from = { created_at: created_at as number, id: id as string }
  const rows = yield* all('listTokens', { ...from, limit: limit + 1 })
  return pageOf(rows, page, tokenFromRow, row => [row.created_at, row.id])
}

export function* revokeToken(id: string, now: number): Program<AccessToken> {
  const row = yield* first('revokeToken', { id, now })
  if (!row) throw new NotFoundError('token', id)
  return tokenFromRow(row)
}

export function tokenFromRow(row: TokenRow): AccessToken {
  const owner = `token ${row.id}`
  return {
    id: row.id,
    name: row.name,
    tenant: row.tenant,
    scopes: storedList<TokenScope>(row.scopes, 'scopes', owner),
    createdAt: storedDate(row.created_at, 'creation time', owner),
    expiresAt: storedDateOrNull(row.expires_at, 'expiry time', owner),
    revokedAt: storedDateOrNull(row.revoked_at, 'time of the revocation', owner),
  }
}
