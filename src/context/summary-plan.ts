import type { Block } from '../core/block.ts'
import type { Summary } from '../core/summary.ts'
import { budgetOf } from './budget.ts'
import type { Window } from './fitted.ts'
import type { ReadHistory } from './read-context.ts'

/** The newest messages that are never summarised, unless said otherwise. */
export const keptVerbatim = 10

/** Whether what no summary stands for has outgrown the window, so that the next summary is due. `pinned` are the
 *  tokens of what is sent besides: the system prompt, tools. False while there is nothing but the messages that
 *  are kept word for word. */
export function needsSummary(
  history: {
    readonly summary: Pick<Summary, 'tokens'> | null
    readonly uncovered: ReadHistory['uncovered'] | null
  },
  window: Window,
  pinned = 0,
): boolean {
  const { uncovered, summary } = history
  if (!uncovered || uncovered.messages <= (window.keepRecent ?? keptVerbatim)) return false
  if (uncovered.messages > (window.maxMessages ?? Number.POSITIVE_INFINITY)) return true
  return uncovered.tokens + (summary?.tokens ?? 0) + pinned > budgetOf(window)
}

/** A message as far as the place of a cut depends on it. */
export interface Cuttable {
  readonly role: string
  readonly blocks: readonly Block[]
}

/** How many of these messages a summary may cover so that the newest `keepRecent` stay, and no result is parted from
 *  its call: up to before a question of the user; if that is nowhere, up to before an answer, within the long exchange
 *  that is left and behind its first answer. 0 if there is no such place. */
export function coverable(messages: readonly Cuttable[], keepRecent: number): number {
  const most = messages.length - Math.max(0, keepRecent)
  const parted = partedAt(messages)
  const lastBefore = (role: string) => {
    for (let at = Math.min(most, messages.length); at > 0; at--) {
      if (!parted[at] && (at === messages.length || messages[at]!.role === role)) return at
    }
    return 0
  }
  const question = lastBefore('user')
  if (question > 0) return question
  const within = lastBefore('assistant')
  // Of an exchange that goes on, the question is sent in any case.
  return messages.slice(0, within).some(({ role }) => role === 'assistant') ? within : 0
}

/** For each place whether a cut there would part a call from its result. */
function partedAt(messages: readonly Cuttable[]): readonly boolean[] {
  const steps = new Int32Array(messages.length + 2)
  const calls = new Map<unknown, number>()
  for (const [at, { blocks }] of messages.entries()) {
    for (const block of blocks) {
      if (block.type === 'tool_call') calls.set(block.callId, at)
      const call = block.type === 'tool_result' ? calls.get(block.callId) : undefined
      if (call === undefined) continue
      steps[call + 1]!++
      steps[at + 1]!--
    }
  }
  let open = 0
  return messages.map((_, at) => {
    open += steps[at]!
    return open > 0
  })
}
