import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { configFolder, type Environment } from '../../config/folder.ts'
import { type AccessToken, type TokenKeeper, tokenScopes } from '../../core/access-token.ts'
import { KeyReusedError } from '../../core/errors.ts'
import { writeNewFile } from '../transfer/new-file.ts'

/** A new secret: 256 random bits, with a beginning that scanners for leaked secrets can find. */
export function newSecret(): string {
  return `skein_${randomBytes(32).toString('base64url')}`
}

/** The form in which a secret is stored and looked up. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** The file with the token of this user: `~/.config/skein/token`. */
export function tokenFile(env: Environment): string {
  return join(configFolder(env), 'token')
}

/** Makes sure that the user's file has a token that this store accepts, and returns its path. The first start
 *  writes the file, readable by its owner only. Another store gets to know the same token. A token that was
 *  revoked or has expired is replaced. */
export async function ensureTokenFile(
  env: Environment,
  tokens: Pick<TokenKeeper, 'findToken' | 'addToken'>,
  now: number,
): Promise<string> {
  const file = tokenFile(env)
  const known = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (known !== '') {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
    const found = await tokens.findToken(hashOfSecret(known))
    if (found ? isUsable(found, now) : await add(tokens, known)) return file
  }
  const secret = newSecret()
  await add(tokens, secret)
  mkdirSync(configFolder(env), { recursive: true, mode: 0o700 })
  writeNewFile(file, `${secret}\n`, true)
  return file
}

function isUsable({ expiresAt, revokedAt }: AccessToken, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > now)
}

/** Stores a token with all scopes. Another process of the same user may have done so at the same moment. */
async function add(tokens: Pick<TokenKeeper, 'addToken'>, secret: string): Promise<true> {
  try {
    await tokens.addToken({ hash: hashOfSecret(secret), name: `local ${hostname()}`, scopes: tokenScopes })
  } catch (error) {
    if (!(error instanceof KeyReusedError)) throw error
  }
  return true
}
