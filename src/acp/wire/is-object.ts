import type { JsonObject } from '../../core/json.ts'

/** Whether a value from the wire is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
