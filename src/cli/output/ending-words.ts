import type { Reply } from '../../agent/run/events.ts'
import type { AnswerEnding } from '../../api/answer-ending.ts'
import type { PathEnding } from '../../api/path-facts.ts'
import { formatDuration } from './time.ts'

/** The endings in a few words. */
export const endingWords: Readonly<Record<AnswerEnding, string>> = {
  interrupted: 'interrupted',
  failed: 'failed',
  length: 'cut at the output limit',
  filtered: 'held back in part by a filter of the provider',
  refused: 'the model declined to answer',
}

/** The ending of a turn in words. */
export function endingText({ status, ms }: PathEnding): string {
  const words = status === 'live' || status === 'not finished' ? status : endingWords[status]
  return ms === null ? words : `${words} after ${formatDuration(ms)}`
}

/** How to continue, as a command or a `/` command: the rest of an answer, and another question. */
export interface NextSteps {
  readonly rest: string
  readonly another: string
}

/** What to say of an answer that ended early or has no text, and how to continue; null for any other. */
export function stopNote({ stop, text }: Pick<Reply, 'stop' | 'text'>, next: NextSteps): string | null {
  const { rest, another } = next
  switch (stop) {
    case 'length':
      return `the answer was cut at the output limit (max_tokens). The rest: ${rest}`
    case 'filtered':
      return `a filter of the provider held back a part of the answer. ${another}`
    case 'refused':
      return `the model declined to answer. ${another}`
    case 'steps':
      return `stopped: too many steps for one turn. Continue: ${rest}`
    case 'approval':
      return `a call needs an approval. To decide: ${rest}`
    case 'stop':
      return text.trim() === '' ? `the model ended its turn without an answer. ${another}` : null
    default:
      return null
  }
}
