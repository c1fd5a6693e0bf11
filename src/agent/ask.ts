import { afterRefusal, afterUsage, type Calibration, calibrated } from '../context/fit/calibrate.ts'
import { fit } from '../context/fit/fit.ts'
import { type Fitted, type Pinned, shrinkSteps, type Window } from '../context/fit/window.ts'
import { ContextLengthError, ModelError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import type { Model, ModelAnswer, ToolSpec } from '../core/model.ts'
import type { TurnRecording } from '../recorder/recording.ts'
import { modelChannel } from '../system/debug.ts'
import type { AgentEvent } from './events.ts'

/** What one question to a model needs. */
export interface Asking {
  readonly model: Model
  readonly window: Window
  readonly pinned: Pinned
  readonly tools: readonly ToolSpec[]
  readonly maxOutput: number | undefined
  readonly calibration: { current: Calibration }
  readonly recording: TurnRecording
  readonly signal: AbortSignal
  readonly step: number
  emit(event: AgentEvent): void
}

/** Gives the model what fits of the path and returns its answer; what arrives is shown and drafted meanwhile. If
 *  the provider finds it too long, less is tried: half, a quarter, the last exchange. */
export async function ask(path: readonly Message[], asking: Asking): Promise<ModelAnswer> {
  const { calibration, emit } = asking
  let refused = null as Refused | null
  for (let attempt = 0; ; attempt++) {
    const window = windowFor(attempt, asking, refused)
    if (refused) emit({ type: 'shrunk', attempt, limit: window.limit })
    const fitted = fitOr(refused, asking.model, () => fit(path, window, asking.pinned))
    const { tokens, left, cut } = fitted
    emit({ type: 'context', step: asking.step, tokens, left, older: asking.pinned.older ?? 0, cut })
    try {
      const answer = await (modelChannel.hasSubscribers ? traced(fitted, asking) : answerTo(fitted, asking))
      const reported = answer.usage.input ?? 0
      calibration.current = afterUsage(calibration.current, { estimated: tokens.total, reported })
      return answer
    } catch (error) {
      if (!(error instanceof ContextLengthError)) throw error
      calibration.current = afterRefusal(calibration.current, error)
      if (attempt === attempts - 1) throw stillTooLong(asking.model, error)
      const pinned = tokens.total - tokens.notice - tokens.messages
      refused = { error, total: refused?.total ?? tokens.total, pinned }
    }
  }
}

/** What was refused: the last time why, the first time how much, and how much of it cannot become less. */
interface Refused {
  readonly error: ContextLengthError
  readonly total: number
  readonly pinned: number
}

const attempts = shrinkSteps({ limit: 1 }).length

/** A refused context is made smaller than it was, and not only smaller than it was allowed to be. Taken anew each
 *  time, because a refusal may have told how large the window really is. */
function windowFor(attempt: number, { window, calibration }: Asking, refused: Refused | null): Window {
  const whole = calibrated(window, calibration.current)
  const { maxTokens = Number.POSITIVE_INFINITY, reserveOutput = 0 } = whole
  const most = refused ? Math.min(maxTokens, refused.total + reserveOutput) : maxTokens
  const narrowed = most === Number.POSITIVE_INFINITY ? whole : { ...whole, maxTokens: most }
  return shrinkSteps(narrowed, refused?.pinned)[attempt]!
}

/** What does not even fit into what is left after a refusal was refused for good. */
function fitOr(refused: Refused | null, model: Model, make: () => Fitted): Fitted {
  try {
    return make()
  } catch (error) {
    throw refused && error instanceof ContextLengthError ? stillTooLong(model, refused.error) : error
  }
}

function stillTooLong(model: Model, cause: ContextLengthError): ContextLengthError {
  const facts = {
    ...(cause.limit === null ? {} : { limit: cause.limit }),
    ...(cause.needed === null ? {} : { needed: cause.needed }),
  }
  const advice = 'say less at once, or take a model with a larger window'
  const problem = `${model.id} finds even the last exchange too long: ${advice} (${cause.message})`
  return new ContextLengthError(problem, { ...facts, cause })
}

async function traced(fitted: Fitted, asking: Asking): Promise<ModelAnswer> {
  const start = performance.now()
  const { messages, tokens } = fitted
  const trace = { model: asking.model.id, messages: messages.length, tokens: tokens.total }
  try {
    const answer = await answerTo(fitted, asking)
    modelChannel.publish({ ...trace, ms: performance.now() - start, usage: answer.usage })
    return answer
  } catch (error) {
    modelChannel.publish({ ...trace, ms: performance.now() - start, error })
    throw error
  }
}

async function answerTo(fitted: Fitted, asking: Asking): Promise<ModelAnswer> {
  const { model, tools, maxOutput, signal, recording, emit } = asking
  const request = {
    messages: fitted.messages,
    signal,
    ...(tools.length > 0 ? { tools } : {}),
    ...(maxOutput === undefined ? {} : { maxOutput }),
  }
  for await (const event of model.stream(request)) {
    if (event.type === 'answer') return event.answer
    recording.draft(event)
    emit(event)
  }
  signal.throwIfAborted()
  throw new ModelError(model.id, 'the stream ended without an answer', { retryable: true })
}
