import { errorText } from '../../core/error-text.ts'
import { InvalidError } from '../../core/errors.ts'
import { checkJson, isPlainObject, type Json, typeName } from '../../core/json.ts'
import type { ToolOutcome } from './tool.ts'

/** The outcome of a tool that has returned. A value that JSON cannot hold is reported as such: the model must
 *  not take it for a tool that did not run, and call it again. */
export function resultOf(returned: unknown): ToolOutcome {
  if (returned instanceof Error) return { output: errorText(returned), isError: true }
  try {
    return { output: jsonOf(returned) }
  } catch (error) {
    const output = `The tool ran. Its result cannot be stored: ${errorText(error)}`
    return { output, isError: true }
  }
}

/** A value as JSON; undefined becomes null. Throws for values that JSON cannot hold, or would drop without a
 *  word: BigInt, cycles, `Map`, `Response`. */
export function jsonOf(value: unknown): Json {
  if (value === undefined) return null
  const json: unknown = JSON.parse(JSON.stringify(value, refuseLoss) ?? 'null')
  checkJson(json, 'result')
  return json
}

function refuseLoss(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isPlainObject(value))
    return value
  if (Object.keys(value).length > 0) return value
  throw new InvalidError('result', `must be JSON, got ${typeName(value)}`)
}
