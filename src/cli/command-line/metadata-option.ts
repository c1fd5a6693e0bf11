import { UsageError } from './usage-error.ts'

/** Splits `key=value`, the value of an option. Throws UsageError. */
export function splitAssignment(text: string, option = 'metadata'): readonly [key: string, value: string] {
  const equals = text.indexOf('=')
  if (equals < 1) throw new UsageError(`--${option} takes key=value, not ${JSON.stringify(text)}`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}
