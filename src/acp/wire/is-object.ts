import type { JsonObject } from '../../core/json.ts'

/** What came over the wire may be anything. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
