import { createHash, randomBytes } from 'node:crypto'

/** A new secret: 256 random bits, with a beginning that scanners for leaked secrets can find. */
export function newSecret(): string {
  return `skein_${randomBytes(32).toString('base64url')}`
}

/** The form in which a secret is stored and looked up. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
