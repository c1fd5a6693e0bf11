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
