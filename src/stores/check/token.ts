import { type NewAccessToken, tokenScopes } from '../../core/access-token.ts'
import { checkChoice, checkName, checkNonEmpty, checkTime } from '../../core/check.ts'
import { checkHash, fields, optional } from './fields.ts'

/** Checks a token before an engine sees it. */
export const checkToken = fields<NewAccessToken>({
  hash: checkHash,
  name: checkName,
  scopes: checkScopes,
  expiresAt: optional(checkTime),
})

function checkScopes(scopes: NewAccessToken['scopes'], field: string): void {
  checkNonEmpty(scopes, field)
  for (const [i, scope] of scopes.entries()) checkChoice(scope, `${field}[${i}]`, tokenScopes)
}
