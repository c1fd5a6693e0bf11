import { createHash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { AccessToken, TokenKeeper, TokenScope } from '../../core/access-token.ts'
import { HttpError } from './http-error.ts'

/** How tokens are checked. */
export interface AuthenticateOptions {
  /** Where tokens are looked up, by the hash of their secret. */
  readonly tokens: Pick<TokenKeeper, 'findToken'>
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds for which a found token is not looked up again: a revoked token works at most so long. */
  readonly tokenCacheMs: number
  /** Wrong tokens that one address may send in a minute. */
  readonly wrongTokens: number
}

/** Returns the token of a request. Throws HttpError: 401 without a valid token, 429 after too many wrong ones
 *  from the same address. */
export type Authenticate = (request: Request, address: string) => Promise<AccessToken>

interface CachedToken {
  readonly digest: Buffer
  readonly token: AccessToken
  readonly until: number
}

const minuteMs = 60_000

/** The parameters that other services accept a token in. Addresses are written to logs and histories. */
const tokenParameters = ['token', 'access_token', 'api_key', 'authorization']

/** Makes the check of tokens. A token is 256 random bits; only its SHA-256 is stored and looked up. */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { tokens, now, tokenCacheMs, wrongTokens } = options
  const found = new LRUCache<string, CachedToken>({ max: 1_000 })
  const wrong = new LRUCache<string, { count: number; until: number }>({ max: 10_000 })

  async function lookUp(hash: string, digest: Buffer): Promise<AccessToken | null> {
    const cached = found.get(hash)
    if (cached && cached.until > now() && timingSafeEqual(cached.digest, digest)) return cached.token
    const token = await tokens.findToken(hash)
    if (token) found.set(hash, { digest, token, until: now() + tokenCacheMs })
    else found.delete(hash)
    return token
  }

  /** A token that worked before is looked up also from an address that sends wrong ones: behind a proxy, all
   *  clients have one address. */
  function checkFlood(hash: string, address: string): void {
    const entry = wrong.get(address)
    if (!entry || entry.until <= now() || entry.count < wrongTokens || found.has(hash)) return
    const seconds = Math.ceil((entry.until - now()) / 1_000)
    throw new HttpError('too_many_requests', 'too many wrong tokens from this address', {
      retryAfter: seconds,
      hint: `Wait ${seconds} s. Tokens that this process has accepted before still work.`,
    })
  }

  function countWrong(address: string): void {
    const entry = wrong.get(address)
    if (entry && entry.until > now()) entry.count++
    else wrong.set(address, { count: 1, until: now() + minuteMs })
  }

  return async (request, address) => {
    const secret = secretOf(request)
    const digest = createHash('sha256').update(secret).digest()
    const hash = digest.toString('hex')
    checkFlood(hash, address)
    const token = await lookUp(hash, digest)
    if (token && isValid(token, now())) return token
    countWrong(address)
    throw unauthorized('the token is unknown, expired or revoked')
  }
}

function isValid({ expiresAt, revokedAt }: AccessToken, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > now)
}

function secretOf(request: Request): string {
  const query = request.url.indexOf('?')
  if (query !== -1) refuseTokenInUrl(new URLSearchParams(request.url.slice(query + 1)))
  const header = request.headers.get('authorization')
  if (header === null) throw unauthorized('a token is required')
  const [, secret] = /^Bearer +([\w.~+/=-]{1,512})$/i.exec(header) ?? []
  if (secret === undefined) throw unauthorized('the header Authorization must be: Bearer <token>')
  return secret
}

function refuseTokenInUrl(parameters: URLSearchParams): void {
  for (const name of tokenParameters) {
    if (!parameters.has(name)) continue
    throw new HttpError('token_in_url', 'a token in the URL is refused: URLs are written to logs', {
      hint: 'Send it in the header: Authorization: Bearer <token>',
    })
  }
}

function unauthorized(message: string): HttpError {
  return new HttpError('unauthorized', message, {
    hint: 'Send a token in the header: Authorization: Bearer <token>. skein token create makes one.',
    headers: { 'www-authenticate': 'Bearer realm="skein"' },
  })
}

/** Throws HttpError (403) if the token does not have the scope. */
export function checkScope({ scopes }: AccessToken, scope: TokenScope): void {
  if (scopes.includes(scope)) return
  throw new HttpError('wrong_scope', `the token does not have the scope ${scope}`, {
    members: { scope },
    hint: `Make a token that has it: skein token create --scope ${scope}`,
    headers: { 'www-authenticate': `Bearer realm="skein", error="insufficient_scope", scope="${scope}"` },
  })
}
