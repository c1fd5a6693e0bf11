import type { Usage } from '../../core/turn.ts'
import { isObject } from '../wire/is-object.ts'

/** What a prompt cost, as the agent's answer says; null if it does not. */
export function usageOf(usage: unknown): Usage | null {
  if (!isObject(usage)) return null
  const count = (name: string) => {
    const value = usage[name]
    return typeof value === 'number' && value >= 0 ? value : undefined
  }
  const read = {
    input: count('inputTokens'),
    output: count('outputTokens'),
    cacheRead: count('cachedReadTokens'),
    cacheWrite: count('cachedWriteTokens'),
    reasoning: count('thoughtTokens'),
  }
  const known = Object.entries(read).filter(([, value]) => value !== undefined)
  return known.length > 0 ? Object.fromEntries(known) : null
}
