import type { LanguageModelV4Content, LanguageModelV4GenerateResult } from '@ai-sdk/provider'
import type { JsonObject } from '../core/json.ts'
import type { TurnStatus } from '../core/turn.ts'
import { type CollectedAnswer, collectAnswer } from '../models/collect.ts'
import { blocksOf } from '../models/content.ts'
import { finishOf, usageOf } from '../models/finish.ts'
import type { Entered, SeenCall } from './recorded-exchanges.ts'
import type { LineAnswer } from './recorded-line.ts'
import type { StreamWatcher } from './recorded-stream.ts'

/** Records the answer to one call. It hears once how the call ended. */
export interface AnswerRecording {
  whole(result: LanguageModelV4GenerateResult): Promise<void>
  broken(error: unknown): Promise<void>
  /** For an answer that comes in parts. */
  readonly watcher: StreamWatcher
}

/** Begins to record an answer. `entered` is null for a call that could not be recorded. */
export function recordAnswer(entered: Entered | null, signal: AbortSignal | undefined): AnswerRecording {
  if (entered === null) return unrecorded
  const { line, expect } = entered
  const arriving = collectAnswer()
  let heard: Promise<void> | null = null
  let problem: { readonly error: unknown } | null = null
  const stop = () => void hear(() => cutOff('interrupted'))
  signal?.addEventListener('abort', stop, { once: true })

  return {
    whole: result =>
      hear(() => {
        const reason = result.finishReason.unified
        const end = { usage: usageOf(result.usage), reason }
        return line.answer(answerOf(result.content, result.response?.modelId ?? null, end))
      }),
    broken: error => hear(() => (isAborted(error) ? cutOff('interrupted') : failed(error))),
    watcher: {
      part(part) {
        if (heard !== null) return undefined
        const piece = arriving.take(part)
        if (piece !== null) line.draft(piece)
        else if (part.type === 'tool-call') expect(callsIn([part]))
        else if (part.type === 'error') problem ??= { error: part.error }
        else if (part.type === 'finish') return hear(finished)
        return undefined
      },
      over: how =>
        hear(() => {
          if (how.by === 'error' && !isAborted(how.error)) return failed(how.error)
          if (problem !== null) return failed(problem.error)
          // A stream that just stops has no end either.
          return cutOff('interrupted')
        }),
    },
  }

  /** Whatever tells it first how the call ended is right: an abort may be followed by errors. */
  function hear(act: () => Promise<void>): Promise<void> {
    signal?.removeEventListener('abort', stop)
    heard ??= act()
    return heard
  }

  function finished(): Promise<void> {
    return problem !== null && arriving.content.length === 0
      ? failed(problem.error)
      : line.answer(answerOf(arriving.content, arriving.model, arriving.end))
  }

  async function failed(error: unknown): Promise<void> {
    if (arriving.content.length > 0) await cutOff('failed')
    else await line.failed(isRetryable(error))
  }

  async function cutOff(ends: 'interrupted' | 'failed'): Promise<void> {
    await line.answer(answerOf(arriving.content, arriving.model, arriving.end, ends))
  }

  function isAborted(error: unknown): boolean {
    return signal?.aborted === true || (error instanceof Error && error.name === 'AbortError')
  }

  function answerOf(
    content: readonly LanguageModelV4Content[],
    model: string | null,
    end: CollectedAnswer['end'],
    ends = end === null ? 'interrupted' : endsOf(end.reason),
  ): LineAnswer {
    const blocks = blocksOf(content, entered?.model)
    const meta: JsonObject = {
      ...(model !== null && { model }),
      ...(end !== null && { finish: finishOf(end.reason, blocks) }),
      ...(ends !== undefined && { [ends]: true }),
    }
    return {
      message: blocks.length === 0 ? null : { role: 'assistant', blocks, meta },
      ...expect(callsIn(content)),
      ...(end !== null && { usage: end.usage }),
      ...(ends !== undefined && { ends }),
    }
  }
}

function endsOf(
  reason: NonNullable<CollectedAnswer['end']>['reason'],
): Exclude<TurnStatus, 'open'> | undefined {
  if (reason === 'interrupted') return 'interrupted'
  return reason === 'error' ? 'failed' : undefined
}

/** The calls that no result stands beside: those of the caller's own tools, and those of a provider that it answers later. */
function callsIn(content: readonly LanguageModelV4Content[]): readonly SeenCall[] {
  const given = new Set(content.map(part => (part.type === 'tool-result' ? part.toolCallId : null)))
  return content.flatMap(part =>
    part.type === 'tool-call' && !given.has(part.toolCallId)
      ? [{ callId: part.toolCallId, name: part.toolName }]
      : [],
  )
}

/** The AI SDK tries again what says of itself that this may help. */
function isRetryable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'isRetryable' in error && error.isRetryable === true
}

const unrecorded: AnswerRecording = {
  async whole() {},
  async broken() {},
  watcher: { part: () => undefined, async over() {} },
}
