import { usageOf } from '../transcript/usage.ts'
import { isObject } from '../wire/is-object.ts'
import type { PromptEnd } from './prompting.ts'

/** How a prompt ended, by the agent's answer to it. One that does not say why has ended its turn. */
export function promptEndOf(result: unknown): PromptEnd {
  if (!isObject(result)) return { stop: 'end_turn' }
  const stop = typeof result.stopReason === 'string' ? result.stopReason : 'end_turn'
  const usage = usageOf(result.usage)
  return { stop, ...(usage ? { usage } : {}) }
}
