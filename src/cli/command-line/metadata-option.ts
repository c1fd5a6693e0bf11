import { UsageError } from './usage-error.ts'

/** Splits `key=value`. Throws UsageError. */
export function splitAssignment(text: string): readonly [key: string, value: string] {
  const equals = text.indexOf('=')
  if (equals < 1) throw new UsageError(`--metadata takes key=value, not ${JSON.stringify(text)}`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}
