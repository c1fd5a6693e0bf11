import type { Window } from './fitted.ts'

/** What a provider's answers have taught us about our counts and its window. A plain value: keep it beside the
 *  model, for as long as the program runs. */
export interface Calibration {
  /** Tokens by the provider's count for each of ours. */
  readonly ratio: number
  /** A window smaller than the one we believed in; null as long as nothing was refused. */
  readonly limit: number | null
}

/** Nothing is known yet. */
export const uncalibrated: Calibration = { ratio: 1, limit: null }

/** Below this a request is mostly wrapping, which says nothing about long ones. */
const leastTelling = 500
/** No tokenizer is further off than this. */
const [leastRatio, mostRatio] = [0.5, 4]

/** What a provider charged for a context, against what we had counted. To count too little is dangerous and is
 *  believed quickly; to count too much is only wasteful and is believed slowly. A charge for less than half says
 *  nothing about counting: the rest came from a cache, or was cut off, as Ollama does; then to send more would be
 *  the wrong answer. */
export function afterUsage(
  calibration: Calibration,
  { estimated, reported }: { readonly estimated: number; readonly reported: number },
): Calibration {
  if (!(estimated >= leastTelling && reported >= estimated * leastRatio)) return calibration
  const seen = Math.min(mostRatio, reported / estimated)
  const weight = seen > calibration.ratio ? 0.7 : 0.2
  return { ...calibration, ratio: calibration.ratio + weight * (seen - calibration.ratio) }
}

/** A provider refused a context for its length. It may say how large its window is; if it says only how much was
 *  sent, the window is smaller than that. */
export function afterRefusal(
  calibration: Calibration,
  { limit, needed }: { readonly limit: number | null; readonly needed: number | null },
): Calibration {
  const said = limit ?? (needed === null ? null : Math.floor(needed * 0.9))
  if (said === null || !(said > 0)) return calibration
  return { ...calibration, limit: Math.min(calibration.limit ?? said, said) }
}

/** The window in tokens as we count them, for `fit`. */
export function calibrated(window: Window, { ratio, limit }: Calibration): Window {
  const ours = (tokens: number) => Math.max(1, Math.floor(tokens / ratio))
  return {
    ...window,
    limit: ours(Math.min(window.limit, limit ?? window.limit)),
    ...(window.maxTokens !== undefined && { maxTokens: ours(window.maxTokens) }),
    ...(window.reserveOutput !== undefined && { reserveOutput: Math.ceil(window.reserveOutput / ratio) }),
  }
}
