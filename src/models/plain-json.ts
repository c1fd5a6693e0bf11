import type { Json } from '../core/json.ts'

/** Plain JSON of whatever a provider, a caller or a tool gives, as it would come back from a file: bytes as base64, dates
 *  and URLs as text, and null where JSON has nothing for it. Never throws. */
export function plainJson(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value, plain) ?? 'null')
  } catch {
    // A cycle, or a number that JSON does not have: its text is better than nothing.
    return String(value)
  }
}

export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** A Buffer turns itself into an object before this is asked; so the value is looked up where it stands. */
function plain(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const given = this[key]
  return given instanceof Uint8Array ? base64Of(given) : value
}
