import type { Json } from '../core/json.ts'

/** Any value of a provider, a caller or a tool as plain JSON: bytes as base64, dates and URLs as text, and
 *  null for values that JSON cannot express. Does not throw. */
export function plainJson(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value, plain) ?? 'null')
  } catch {
    // A cycle or a bigint: use its text.
    return String(value)
  }
}

export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** Looks the value up in its parent, because a Buffer has already converted itself to an object here. */
function plain(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const given = this[key]
  return given instanceof Uint8Array ? base64Of(given) : value
}
