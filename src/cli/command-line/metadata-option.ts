import { UsageError } from './usage-error.ts'

/** Splits `key=value`. Throws UsageError. */
export function splitAssignment(text: string): readonly [key: string, value: string] {
  const equals = text.indexOf('=')
  if (equals < 1) throw new UsageError(`--metadata takes key=value, not ${JSON.stringify(text)}`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}

/** The value as JSON has it: true, false and numbers, anything else as text. `"3"` in quotes is text. */
export function metadataValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return Number(text)
  const [, quoted] = /^"(.*)"$/s.exec(text) ?? []
  return quoted ?? text
}
