import type { Reply } from '../../agent/run/events.ts'

/** Why an answer is not whole: the model's own reasons, an interruption, or a failure. */
export type AnswerEnding = 'interrupted' | 'failed' | CutReason

/** Why a provider ended an answer early. */
export type CutReason = 'length' | 'filtered' | 'refused'

/** How a stored answer ended, by its metadata; null if it is whole. */
export function answerEnding(message: { readonly metadata?: object | null }): AnswerEnding | null {
  const metadata = message.metadata as Readonly<Record<string, unknown>> | null | undefined
  if (metadata?.interrupted === true) return 'interrupted'
  if (metadata?.failed === true) return 'failed'
  return cutReason(metadata?.finish)
}

/** The reason, if an answer with this finish was cut. */
export function cutReason(finish: unknown): CutReason | null {
  return finish === 'length' || finish === 'filtered' || finish === 'refused' ? finish : null
}

/** The endings in a few words. */
export const endingWords: Readonly<Record<AnswerEnding, string>> = {
  interrupted: 'interrupted',
  failed: 'failed',
  length: 'cut at the output limit',
  filtered: 'held back in part by a filter of the provider',
  refused: 'the model declined to answer',
}

/** How to continue, as a command or a `/` command: the rest of an answer, and another question. */
export interface NextSteps {
  readonly rest: string
  readonly another: string
}

/** What to say of an answer that ended early, and how to continue; null if it ended normally. */
export function stopNote(stop: Reply['stop'], { rest, another }: NextSteps): string | null {
  switch (stop) {
    case 'length':
      return `the answer was cut at the output limit (max_tokens). The rest: ${rest}`
    case 'filtered':
      return `a filter of the provider held back a part of the answer. ${another}`
    case 'refused':
      return `the model declined to answer. ${another}`
    case 'steps':
      return `stopped: too many steps for one turn. Continue: ${rest}`
    default:
      return null
  }
}
