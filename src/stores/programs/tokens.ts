import {
  type AccessToken,
  type NewAccessToken,
  type TokenScope,
  tokenScopes,
} from '../../core/access-token.ts'
import { KeyReusedError, NotFoundError } from '../../core/errors.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import { all, countChanges, first, type Program } from '../engine/engine.ts'
import { dateOrNull } from '../engine/row-to-value.ts'
import type { TokenRow } from '../engine/rows.ts'
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

function tokenFromRow(row: TokenRow): AccessToken {
  return {
    id: row.id,
    name: row.name,
    tenant: row.tenant,
    scopes: JSON.parse(row.scopes) as TokenScope[],
    createdAt: new Date(row.created_at),
    expiresAt: dateOrNull(row.expires_at),
    revokedAt: dateOrNull(row.revoked_at),
  }
}
