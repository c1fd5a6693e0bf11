import type { Item } from './json.ts'

export type Headers = Readonly<Record<string, string | undefined>>

/** One published rule of a provider: its message to a request that breaks it, or null. */
export type Rule = (body: Item, headers: Headers) => string | null

export type Rules = Readonly<Record<string, Rule>>

/** The message of the first broken rule, or null. */
export function firstBroken(rules: Rules, body: Item, headers: Headers): string | null {
  for (const rule of Object.values(rules)) {
    const fault = rule(body, headers)
    if (fault !== null) return fault
  }
  return null
}

/** The first fault in a list, or null. */
export function firstFault<T>(
  things: readonly T[],
  faultOf: (thing: T, at: number) => string | null,
): string | null {
  for (const [at, thing] of things.entries()) {
    const fault = faultOf(thing, at)
    if (fault !== null) return fault
  }
  return null
}

/** The first value that occurs twice. */
export function twice(values: readonly string[]): string | undefined {
  return values.find((value, at) => values.indexOf(value) !== at)
}

export function isBlank(value: unknown): boolean {
  return typeof value !== 'string' || value.trim() === ''
}
