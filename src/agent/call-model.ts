import { afterRefusal, afterUsage, type Calibration, calibrated } from '../context/fit/calibrate.ts'
import { fit } from '../context/fit/fit.ts'
import { type Fitted, type Pinned, shrinkSteps, type Window } from '../context/fit/window.ts'
import { ContextLengthError, ModelError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import type { IgnoredOption, Model, ModelAnswer, ModelOptions, ModelRetry, ToolSpec } from '../core/model.ts'
import type { TurnRecording } from '../recorder/recording.ts'
import { modelChannel } from '../system/debug.ts'
import type { AgentEvent } from './run/events.ts'

/** One call of the model. */
export interface ModelCall {
  readonly model: Model
  readonly window: Window
  readonly pinned: Pinned
  readonly tools: readonly ToolSpec[]
  readonly options: ModelOptions
  readonly calibration: { current: Calibration }
  readonly recording: TurnRecording
  readonly signal: AbortSignal
  readonly step: number
  emit(event: AgentEvent): void
}

/** Calls the model with the part of the path that fits, and returns its answer. Emits and drafts the pieces
 *  as they arrive. If the provider refuses the context as too long, tries smaller ones: half, a quarter, the
 *  last exchange. */
export async function callModel(path: readonly Message[], call: ModelCall): Promise<ModelAnswer> {
  const { calibration, emit } = call
  let refused = null as RefusedContext | null
  for (let attempt = 0; ; attempt++) {
    const window = windowFor(attempt, call, refused)
    if (refused) emit({ type: 'shrunk', attempt, limit: window.limit })
    const fitted = fitAfter(refused, call.model, () => fit(path, window, call.pinned))
    const { tokens, left, cut } = fitted
    emit({ type: 'context', step: call.step, tokens, left, older: call.pinned.older ?? 0, cut })
    try {
      const answer = await (modelChannel.hasSubscribers
        ? tracedAnswer(fitted, call)
        : streamAnswer(fitted, call))
      const reported = answer.usage.input ?? 0
      calibration.current = afterUsage(calibration.current, { estimated: tokens.total, reported })
      return answer
    } catch (error) {
      if (!(error instanceof ContextLengthError)) throw error
      calibration.current = afterRefusal(calibration.current, error)
      if (attempt === shrinkSteps({ limit: 1 }).length - 1) throw stillTooLong(call.model, error)
      const pinned = tokens.total - tokens.notice - tokens.messages
      refused = { error, total: refused?.total ?? tokens.total, pinned }
    }
  }
}

/** A refused context: the error of the last refusal, the tokens of the first, and how many of them are
 *  pinned. */
interface RefusedContext {
  readonly error: ContextLengthError
  readonly total: number
  readonly pinned: number
}

/** The window of an attempt. After a refusal it is smaller than the refused context, not only smaller than
 *  the window before. Computed for each attempt, because a refusal may have shown the real size of the
 *  window. */
function windowFor(
  attempt: number,
  { window, calibration }: ModelCall,
  refused: RefusedContext | null,
): Window {
  const whole = calibrated(window, calibration.current)
  const { maxTokens = Number.POSITIVE_INFINITY, reserveOutput = 0 } = whole
  const most = refused ? Math.min(maxTokens, refused.total + reserveOutput) : maxTokens
  const narrowed = most === Number.POSITIVE_INFINITY ? whole : { ...whole, maxTokens: most }
  return shrinkSteps(narrowed, refused?.pinned)[attempt]!
}

/** After a refusal, a context that cannot be made small enough is refused for good. */
function fitAfter(refused: RefusedContext | null, model: Model, make: () => Fitted): Fitted {
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

async function tracedAnswer(fitted: Fitted, call: ModelCall): Promise<ModelAnswer> {
  const start = performance.now()
  const { messages, tokens } = fitted
  const trace = { model: call.model.id, messages: messages.length, tokens: tokens.total }
  try {
    const answer = await streamAnswer(fitted, call)
    modelChannel.publish({ ...trace, ms: performance.now() - start, usage: answer.usage })
    return answer
  } catch (error) {
    modelChannel.publish({ ...trace, ms: performance.now() - start, error })
    throw error
  }
}

async function streamAnswer(fitted: Fitted, call: ModelCall): Promise<ModelAnswer> {
  const { model, tools, options, signal, recording, emit } = call
  const request = {
    ...options,
    messages: fitted.messages,
    signal,
    onRetry: (retry: ModelRetry) => emit({ type: 'retrying', ...retry }),
    onIgnored: (ignored: IgnoredOption) => emit({ type: 'ignored', ...ignored }),
    ...(tools.length > 0 ? { tools } : {}),
  }
  for await (const event of model.stream(request)) {
    if (event.type === 'answer') return event.answer
    recording.draft(event)
    emit(event)
  }
  signal.throwIfAborted()
  throw new ModelError(model.id, 'the stream ended without an answer', { retryable: true })
}
