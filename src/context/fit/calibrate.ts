import type { Window } from './window.ts'

/** What is known about a provider's counts and window from its answers. A plain value: keep it with the model
 *  while the program runs. */
export interface Calibration {
  /** The provider's tokens per token of ours. */
  readonly ratio: number
  /** The window that a refusal has shown, if it is smaller than the assumed one; null before any refusal. */
  readonly limit: number | null
}

/** The value before the first answer. */
export const uncalibrated: Calibration = { ratio: 1, limit: null }

/** Smaller requests are mostly overhead, which says nothing about long ones. */
const leastTelling = 500
/** No tokenizer differs by more than this. */
const [leastRatio, mostRatio] = [0.5, 4]

/** Updates the ratio from the tokens that a provider has charged. Counting too few tokens is dangerous, so
 *  the ratio rises quickly; counting too many only wastes space, so it falls slowly. A charge of less than
 *  half is ignored: the rest came from a cache, or was cut off, as Ollama does, and sending more would be
 *  wrong. */
export function afterUsage(
  calibration: Calibration,
  { estimated, reported }: { readonly estimated: number; readonly reported: number },
): Calibration {
  if (!(estimated >= leastTelling && reported >= estimated * leastRatio)) return calibration
  const seen = Math.min(mostRatio, reported / estimated)
  const weight = seen > calibration.ratio ? 0.7 : 0.2
  return { ...calibration, ratio: calibration.ratio + weight * (seen - calibration.ratio) }
}

/** Updates the limit after a provider has refused a context for its length. The error may name the window; if
 *  it names only the tokens sent, the window is smaller than that. */
export function afterRefusal(
  calibration: Calibration,
  { limit, needed }: { readonly limit: number | null; readonly needed: number | null },
): Calibration {
  const said = limit ?? (needed === null ? null : Math.floor(needed * 0.9))
  if (said === null || !(said > 0)) return calibration
  return { ...calibration, limit: Math.min(calibration.limit ?? said, said) }
}

/** The window in our tokens, for `fit`. */
export function calibrated(window: Window, { ratio, limit }: Calibration): Window {
  const ours = (tokens: number) => Math.max(1, Math.floor(tokens / ratio))
  return {
    ...window,
    limit: ours(Math.min(window.limit, limit ?? window.limit)),
    ...(window.maxTokens !== undefined && { maxTokens: ours(window.maxTokens) }),
    ...(window.reserveOutput !== undefined && { reserveOutput: Math.ceil(window.reserveOutput / ratio) }),
  }
}
