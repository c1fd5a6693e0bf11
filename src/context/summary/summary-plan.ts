import type { Block } from '../../core/block.ts'
import type { Summary } from '../../core/summary.ts'
import { budgetOf, type Window } from '../fit/window.ts'

/** Default number of the newest messages that are not summarized. */
export const keptVerbatim = 10

/** Whether the messages that no summary covers exceed the window, so that the next summary is due. `pinned`
 *  are the tokens of the system prompt and the tools. False while there are only messages that are kept
 *  verbatim. */
export function needsSummary(
  history: {
    readonly summary: Pick<Summary, 'tokens'> | null
    readonly uncovered: { readonly messages: number; readonly tokens: number } | null
  },
  window: Window,
  pinned = 0,
): boolean {
  const { uncovered, summary } = history
  if (!uncovered || uncovered.messages <= (window.keepRecent ?? keptVerbatim)) return false
  if (uncovered.messages > (window.maxMessages ?? Number.POSITIVE_INFINITY)) return true
  return uncovered.tokens + (summary?.tokens ?? 0) + pinned > budgetOf(window)
}

/** The part of a message that decides where a summary may end. */
export interface PlannedMessage {
  readonly role: string
  readonly content: readonly Block[]
}

/** How many of these messages a summary may cover, so that the newest `keepRecent` stay and no result is
 *  separated from its call. The summary ends before a question of the user; if that is not possible, before
 *  an answer within a long exchange, after its first answer. 0 if there is no such position. */
export function coverable(messages: readonly PlannedMessage[], keepRecent: number): number {
  const most = messages.length - Math.max(0, keepRecent)
  const separates = separatesAt(messages)
  const lastBefore = (role: string) => {
    for (let at = Math.min(most, messages.length); at > 0; at--) {
      if (!separates[at] && (at === messages.length || messages[at]!.role === role)) return at
    }
    return 0
  }
  const question = lastBefore('user')
  if (question > 0) return question
  const within = lastBefore('assistant')
  // The question of an exchange in progress is sent in any case.
  return messages.slice(0, within).some(({ role }) => role === 'assistant') ? within : 0
}

/** For each index, whether a cut there would separate a call from its result. */
function separatesAt(messages: readonly PlannedMessage[]): readonly boolean[] {
  const steps = new Int32Array(messages.length + 2)
  const calls = new Map<unknown, number>()
  for (const [at, { content: blocks }] of messages.entries()) {
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
