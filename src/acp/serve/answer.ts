import type { PromptResponse, StopReason, Usage as UsageShown } from '@agentclientprotocol/sdk/unstable'
import type { Reply } from '../../agent/run/events.ts'
import type { Usage } from '../../core/turn.ts'

/** Why a turn ended, in the protocol's words. What a provider held back is no `refusal`: that would say that the prompt is
 *  forgotten, and it is kept. */
const stopReasons: Readonly<Record<Reply['stop'], StopReason>> = {
  stop: 'end_turn',
  tool_calls: 'end_turn',
  other: 'end_turn',
  filtered: 'end_turn',
  length: 'max_tokens',
  steps: 'max_turn_requests',
  aborted: 'cancelled',
}

/** The answer to a prompt. */
export function answerOf({ stop, usage }: Reply): PromptResponse {
  const shown = usageShown(usage)
  return { stopReason: stopReasons[stop], ...(shown ? { usage: shown } : {}) }
}

function usageShown({ input, output, reasoning, cacheRead, cacheWrite }: Usage): UsageShown | null {
  if (input === undefined && output === undefined) return null
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    totalTokens: (input ?? 0) + (output ?? 0),
    ...(reasoning === undefined ? {} : { thoughtTokens: reasoning }),
    ...(cacheRead === undefined ? {} : { cachedReadTokens: cacheRead }),
    ...(cacheWrite === undefined ? {} : { cachedWriteTokens: cacheWrite }),
  }
}
