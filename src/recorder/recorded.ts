import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Middleware,
} from '@ai-sdk/provider'
import { repair } from '../context/repair.ts'
import type { BranchRef } from '../core/branch.ts'
import type { NewConversation } from '../core/conversation.ts'
import { checkLanguageModel } from '../models/language-model.ts'
import { type RecorderSource, systemRecorderSource } from '../system/source.ts'
import { type AnswerRecording, recordAnswer } from './recorded-answer.ts'
import { type ExchangeOptions, exchanges } from './recorded-exchanges.ts'
import type { Patience } from './recorded-line.ts'
import { onceAt } from './recorded-once.ts'
import { watchStream } from './recorded-stream.ts'
import { watchTools } from './recorded-tools.ts'
import type { RecordStore, TurnReport } from './recording.ts'
import { writeMessages } from './v4-messages.ts'

export interface RecordToOptions extends Partial<Omit<ExchangeOptions, 'patience'>> {
  /** What a conversation is to be like that is created because nobody has the key. */
  readonly conversation?: Omit<NewConversation, 'key'>
  /** How long an exchange waits for its next call. */
  readonly patience?: Partial<Patience>
  readonly source?: RecorderSource
}

/** Records what passes between an application that uses the AI SDK, its models and its tools. */
export interface ModelRecorder {
  /** The same model, recorded: whatever `generateText`, `streamText`, `generateObject` or an agent of the SDK asks it is
   *  stored, the caller's words before the model is called. Wrap it last, around other middleware, so that what is stored
   *  is what the caller sees: what somebody changes on the way out comes back with the next call, and looks edited. */
  (model: LanguageModelV4): LanguageModelV4
  /** The same, for `wrapLanguageModel`. */
  readonly middleware: LanguageModelV4Middleware
  /** The same tools, recorded: their results are stored as they come. Without it a result is stored with the next call
   *  that carries it; the results of the last step, which no call carries, are not. */
  tools<T extends object>(tools: T): T
  /** Where the newest call was recorded: a sibling of the branch that was named, if the caller's messages differ. */
  place(): Promise<BranchRef>
  /** What is stored there, or on another branch, as `messages` for the next call. Calls without a result get one that
   *  says so, for this view only. */
  messages(branch?: BranchRef): Promise<LanguageModelV4Message[]>
  /** Ends what is still open, and says what of it is on the disk. An exchange ends by itself with an answer that asks
   *  for no tools; it has to be ended by hand only where the caller stops after tools have run, and closes the store. */
  end(): Promise<readonly TurnReport[]>
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes calls through the AI SDK durable. `where` is a key, whose conversation is created if there is none, or a branch.
 *
 *  The caller goes on keeping its own messages. Each call's messages are laid on the stored path by position: those that
 *  are there are not stored again, new ones are added, and where one differs a sibling branch begins. Failing storage
 *  never fails a call: `onTrouble` hears of it. Only if the conversation cannot be found or created, the call is refused.
 *
 * @example
 * ```ts
 * import { generateText } from 'ai'
 * import { MockLanguageModelV4 } from 'ai/test'
 * import { openStore, textOf } from 'skein'
 * import { recordTo } from 'skein/recorder'
 *
 * // In your program: openai('gpt-5'), anthropic('claude-sonnet-4-5') or any other model of the AI SDK.
 * const usage = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
 * const model = new MockLanguageModelV4({
 *   doGenerate: {
 *     content: [{ type: 'text', text: 'Hello!' }],
 *     finishReason: { unified: 'stop', raw: undefined },
 *     usage: { inputTokens: usage, outputTokens: usage },
 *     warnings: [],
 *   },
 * })
 *
 * await using store = await openStore(':memory:')
 * const recorded = recordTo(store, 'web:42')
 * await generateText({ model: recorded(model), prompt: 'Hi' })
 *
 * const { head } = await store.getBranch(await recorded.place())
 * console.log((await store.path(head!)).map(textOf)) // [ 'Hi', 'Hello!' ]
 * ```
 */
export function recordTo(
  store: RecordStore,
  where: string | BranchRef,
  options: RecordToOptions = {},
): ModelRecorder {
  const { source = systemRecorderSource, conversation, patience, ...manners } = options
  const once = onceAt(store, where)
  let home: BranchRef | null = null
  const recording = exchanges(store, findHome, source, {
    onBusy: 'fork',
    ...manners,
    patience: { answeredMs: 1_000, callsMs: 10_000, retryMs: 10_000, busyMs: 2_000, ...patience },
  })

  const middleware: LanguageModelV4Middleware = {
    specificationVersion: 'v4',
    async wrapGenerate({ doGenerate, params, model }) {
      if (once.isInside) return doGenerate()
      const answer = recordAnswer(await recording.enter(params, model), params.abortSignal)
      const result = await attempt(() => once.call(doGenerate), answer)
      await answer.whole(result)
      return result
    },
    async wrapStream({ doStream, params, model }) {
      if (once.isInside) return doStream()
      const answer = recordAnswer(await recording.enter(params, model), params.abortSignal)
      const result = await attempt(() => once.call(doStream), answer)
      return { ...result, stream: watchStream(result.stream, answer.watcher) }
    },
  }

  return Object.assign((model: LanguageModelV4) => recordedModel(model, middleware), {
    middleware,
    tools: <T extends object>(tools: T) => watchTools(tools, recording.tools, once),
    place: () => recording.place(),
    messages,
    end: () => recording.end(),
    [Symbol.asyncDispose]: async () => void (await recording.end()),
  })

  /** A key may have moved on to another conversation since the last call: that one expired, or went to the trash. */
  async function findHome(): Promise<BranchRef> {
    if (typeof where !== 'string') return where
    try {
      const place = (await store.findByKey(where)) ?? (await store.findOrCreate(where, conversation))
      home = { conversationId: place.branch.conversationId, name: place.branch.name }
    } catch (error) {
      if (home === null) throw error
    }
    return home
  }

  async function messages(branch?: BranchRef): Promise<LanguageModelV4Message[]> {
    const { head } = await store.getBranch(branch ?? (await recording.settled()))
    return head === null ? [] : writeMessages(repair(await store.path(head)))
  }
}

async function attempt<T>(call: () => PromiseLike<T>, answer: AnswerRecording): Promise<T> {
  try {
    return await call()
  } catch (error) {
    await answer.broken(error)
    throw error
  }
}

function recordedModel(model: LanguageModelV4, middleware: LanguageModelV4Middleware): LanguageModelV4 {
  checkLanguageModel(model)
  const calls = (params: LanguageModelV4CallOptions) => ({
    params,
    model,
    doGenerate: () => model.doGenerate(params),
    doStream: () => model.doStream(params),
  })
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls
    },
    doGenerate: params => middleware.wrapGenerate!(calls(params)),
    doStream: params => middleware.wrapStream!(calls(params)),
  }
}
