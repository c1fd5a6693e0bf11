import type { CommandContext } from '../../command-line/command-context.ts'
import { noteLine } from '../../output/print.ts'
import { wrapForTerminal } from '../../output/wrap.ts'
import type { ChosenConversation } from '../../target/choose-conversation.ts'
import { headerLines } from '../../target/header-lines.ts'
import { pendingText } from './pending-turn.ts'

/** Prints the header, and how to retry a question that has no answer. */
export function printHeader(
  chosen: ChosenConversation,
  context: CommandContext,
  keptIn: string | null = null,
): void {
  const { err, canAsk, quiet } = context
  if (quiet) return
  const { status } = chosen
  const quietly = { ...chosen, status: status && { ...status, unanswered: 0 } }
  for (const line of headerLines(quietly, err, { now: context.now(), keptIn }))
    err.line(wrapForTerminal(line, err))
  if (!status?.unanswered || chosen.how !== 'continued') return
  const text = pendingText({ what: 'questions', count: status.unanswered })
  err.line(noteLine(canAsk ? text : text.replace(/:.*/, ''), err))
}
