import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import type { JsonObject } from '../../core/json.ts'
import type { TurnStatus } from '../../core/turn.ts'
import { type CollectedAnswer, collectAnswer } from '../../models/collect.ts'
import { blocksOf } from '../../models/content.ts'
import { finishOf, usageOf } from '../../models/finish.ts'
import type { ExchangeAnswer } from './exchange-recording.ts'
import type { ToolCallName } from './exchange-tools.ts'
import type { RecordedCall } from './exchanges.ts'

/** Records the answer to one call of a model. Only the first report of how the call ended counts. */
export interface AnswerRecording {
  whole(result: LanguageModelV4GenerateResult): Promise<void>
  broken(error: unknown): Promise<void>
  /** For a streamed answer. */
  readonly watcher: StreamWatcher
}

/** Observes a stream that passes. */
export interface StreamWatcher {
  /** Called with a part before the reader gets it. The part is held back until this resolves. */
  part(part: LanguageModelV4StreamPart): void | Promise<void>
  /** Called once, with how the stream ended. The reader learns of the end after this resolves. */
  over(
    how: { readonly by: 'end' | 'reader' } | { readonly by: 'error'; readonly error: unknown },
  ): Promise<void>
}

/** Begins to record an answer. `recorded` is null for a call that could not be recorded. */
export function recordAnswer(
  recorded: RecordedCall | null,
  signal: AbortSignal | undefined,
): AnswerRecording {
  if (recorded === null) return unrecorded
  const { recording, model: requestedModel, expect } = recorded
  const arriving = collectAnswer()
  let reported: Promise<void> | null = null
  let problem: { readonly error: unknown } | null = null
  const stop = () => void report(() => cutOff('interrupted'))
  signal?.addEventListener('abort', stop, { once: true })

  return {
    whole: result =>
      report(() => {
        const end = { usage: usageOf(result.usage), reason: result.finishReason }
        return recording.answer(answerOf(result.content, result.response?.modelId ?? null, end))
      }),
    broken: error => report(() => (isAborted(error) ? cutOff('interrupted') : failed(error))),
    watcher: {
      part(part) {
        if (reported !== null) return undefined
        const piece = arriving.take(part)
        if (piece !== null) recording.draft(piece)
        else if (part.type === 'tool-call') expect(callsIn([part]))
        else if (part.type === 'error') problem ??= { error: part.error }
        else if (part.type === 'finish') return report(finished)
        return undefined
      },
      over: how =>
        report(() => {
          if (how.by === 'error' && !isAborted(how.error)) return failed(how.error)
          if (problem !== null) return failed(problem.error)
          // A stream without a finish part was cut off, also if it ended normally.
          return cutOff('interrupted')
        }),
    },
  }

  /** The first report is right: an abort may be followed by errors. */
  function report(act: () => Promise<void>): Promise<void> {
    signal?.removeEventListener('abort', stop)
    reported ??= act()
    return reported
  }

  function finished(): Promise<void> {
    return problem !== null && arriving.content.length === 0
      ? failed(problem.error)
      : recording.answer(answerOf(arriving.content, arriving.model, arriving.end))
  }

  async function failed(error: unknown): Promise<void> {
    if (arriving.content.length > 0) await cutOff('failed')
    else await recording.failed(isRetryable(error))
  }

  async function cutOff(ends: 'interrupted' | 'failed'): Promise<void> {
    await recording.answer(answerOf(arriving.content, arriving.model, arriving.end, ends))
  }

  function isAborted(error: unknown): boolean {
    return signal?.aborted === true || (error instanceof Error && error.name === 'AbortError')
  }

  function answerOf(
    content: readonly LanguageModelV4Content[],
    model: string | null,
    end: CollectedAnswer['end'],
    ends = end === null ? 'interrupted' : statusAfter(end.reason.unified),
  ): ExchangeAnswer {
    const blocks = blocksOf(content, requestedModel)
    const metadata: JsonObject = {
      ...(model !== null && { model }),
      ...(end !== null && { finish: finishOf(end.reason, blocks) }),
      ...(ends !== undefined && { [ends]: true }),
    }
    return {
      message: blocks.length === 0 ? null : { role: 'assistant', content: blocks, metadata },
      ...expect(callsIn(content)),
      ...(end !== null && { usage: end.usage }),
      ...(ends !== undefined && { ends }),
    }
  }
}

/** The status of a turn that ends with this finish reason; undefined if the turn does not have to end with
 *  it. */
function statusAfter(
  reason: NonNullable<CollectedAnswer['end']>['reason']['unified'],
): Exclude<TurnStatus, 'open'> | undefined {
  if (reason === 'interrupted') return 'interrupted'
  return reason === 'error' ? 'failed' : undefined
}

/** The calls without a result in the answer itself: those of the caller's tools, and those of provider tools
 *  whose result comes later. */
function callsIn(content: readonly LanguageModelV4Content[]): readonly ToolCallName[] {
  const given = new Set(content.map(part => (part.type === 'tool-result' ? part.toolCallId : null)))
  return content.flatMap(part =>
    part.type === 'tool-call' && !given.has(part.toolCallId)
      ? [{ callId: part.toolCallId, name: part.toolName }]
      : [],
  )
}

/** The AI SDK retries calls that fail with an error marked as retryable. */
function isRetryable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'isRetryable' in error && error.isRetryable === true
}

const unrecorded: AnswerRecording = {
  async whole() {},
  async broken() {},
  watcher: { part: () => undefined, async over() {} },
}

/** The same stream, observed. Reads nothing ahead of the reader. */
export function watchStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  watcher: StreamWatcher,
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        const next = await reader.read().catch(async error => {
          await watcher.over({ by: 'error', error })
          throw error
        })
        if (next.done) {
          await watcher.over({ by: 'end' })
          controller.close()
          return
        }
        // Most parts are handled synchronously. An `await` would cost a turn of the event loop for each.
        const handled = watcher.part(next.value)
        if (handled !== undefined) await handled
        controller.enqueue(next.value)
      },
      async cancel(reason) {
        await Promise.all([watcher.over({ by: 'reader' }), reader.cancel(reason)])
      },
    },
    { highWaterMark: 0 },
  )
}
