import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Middleware,
} from '@ai-sdk/provider'
import type { StoredApproval } from '../../core/approval.ts'
import type { BranchRef } from '../../core/branch.ts'
import { checkMethod, checkName, checkObject } from '../../core/check.ts'
import type { NewConversation } from '../../core/conversation.ts'
import type { MessageId } from '../../core/ids.ts'
import { type AnyLanguageModel, asLanguageModel } from '../../models/language-model.ts'
import type { BeginTurn, Trouble, TurnReport } from '../../recorder/recording.ts'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import type { RecordToStore } from './approved-calls.ts'
import type { ExchangeTimeouts } from './exchange-recording.ts'
import { createExchanges, type ForkedCall } from './exchanges.ts'
import { namedModel } from './named-model.ts'
import { type InterruptedCall, interruptedCall, type MessagesOptions, nextMessages } from './next-messages.ts'
import { type AnswerRecording, recordAnswer, watchStream } from './record-answer.ts'
import { recordingScope } from './recording-scope.ts'
import { watchToolApproval } from './watch-tool-approval.ts'
import { watchTools } from './watch-tools.ts'

/** How `recordTo` records, and how it reports. */
export interface RecordToOptions {
  /** If the turn of another process holds the branch: continue on a new sibling branch (`fork`, the default),
   *  wait for it, or refuse the call. */
  readonly onBusy?: NonNullable<BeginTurn['onBusy']>
  /** Called when a call is recorded on another branch than the given one. */
  readonly onFork?: (fork: ForkedCall) => void
  /** Called when storage fails. The call continues. */
  readonly onTrouble?: (trouble: Trouble) => void
  /** `live` (default) stores each step of an exchange as it ends, `at_once` the whole exchange at its end. */
  readonly mode?: NonNullable<BeginTurn['mode']>
  /** Facts of the conversation, if it is created because none has the key. */
  readonly conversation?: Omit<NewConversation, 'key'>
  /** How long an exchange waits for its next call. */
  readonly timeouts?: Partial<ExchangeTimeouts>
  /** Clock, ids and timers. Default: those of the machine. */
  readonly source?: RecorderSource
}

/** Records the calls that an application makes through the AI SDK, and its tools. */
export interface ModelRecorder {
  /** Wraps a model: every call of `generateText`, `streamText`, `generateObject` or an agent of the SDK is
   *  stored, the caller's messages before the model is called. Wrap it last, around other middleware, so that
   *  the stored answer is the one that the caller sees: an answer that was changed on the way out comes back
   *  with the next call and looks edited. Takes models of the AI SDK 5 to 7, and a name such as
   *  `openai/gpt-5`, which the SDK resolves as `generateText` does: by its default provider, or the gateway.
   */
  (model: AnyLanguageModel | string): LanguageModelV4
  /** The same as middleware, for `wrapLanguageModel`. */
  readonly middleware: LanguageModelV4Middleware
  /** Wraps tools: their results are stored as they come. A result of an unwrapped tool is stored with the
   *  next call that carries it; results of the last step, which no call carries, are not stored. */
  tools<T extends object>(tools: T): T
  /** Wraps the option `toolApproval` of the AI SDK 7, which takes precedence over `needsApproval` of a tool:
   *  calls that need an approval of the user are stored. `tools` does the same for `needsApproval`. */
  toolApproval<T>(toolApproval: T): T
  /** The calls of this conversation that wait for an approval, the newest first. Answer them with
   *  `store.answerApproval`, in any process, and continue with `resume`. */
  approvals(): Promise<readonly StoredApproval[]>
  /** The branch of the newest call: a sibling of the given branch if the caller's messages differ from the
   *  stored ones. */
  place(): Promise<BranchRef>
  /** The stored messages of that branch, or of another one, as `messages` for the next call. Calls without a
   *  result get one that says so, in this view only. Default: all messages; `window` and `budget` limit them,
   *  and then time and memory do not depend on the length of the history. */
  messages(options?: MessagesOptions): Promise<LanguageModelV4Message[]>
  /** The messages that continue an interrupted answer, after a crash, an abort, a failure or an approval.
   *  Null if the last answer is complete, or while one of its calls waits for an approval. Send them through
   *  the recorded model as they are: the answer continues the interrupted turn, and approved calls run. Of
   *  several processes that continue, one runs them; the others get BusyError or ExpiredError.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   * import { recordTo } from 'skein/ai-sdk'
   *
   * await using store = await openStore(':memory:')
   * const recorded = recordTo(store, 'web:42')
   * const interrupted = await recorded.resume()
   * console.log(interrupted) // null
   * // After a crash: streamText({ model: recorded(model), messages: interrupted.messages })
   * ```
   */
  resume(options?: MessagesOptions): Promise<InterruptedCall | null>
  /** Ends the open exchanges and reports what of them is stored. An exchange ends by itself with an answer
   *  without tool calls; call this if the application stops after tools have run, and closes the store. */
  end(): Promise<readonly TurnReport[]>
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes calls through the AI SDK durable. `where` is a branch, or a key, whose conversation is created if
 *  there is none.
 *
 *  The application keeps its own messages. The messages of each call are compared with the stored path, by
 *  position: known ones are not stored again, new ones are added, and where one differs a sibling branch
 *  begins. Failing storage never fails a call; `onTrouble` reports it. The call is refused only if the
 *  conversation cannot be found or created, or belongs to another program (OwnedError).
 *
 * @example
 * ```ts
 * import { generateText } from 'ai'
 * import { MockLanguageModelV4 } from 'ai/test'
 * import { openStore, pathOf, textOf } from 'skein'
 * import { recordTo } from 'skein/ai-sdk'
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
 * console.log((await pathOf(store, head!)).map(textOf)) // [ 'Hi', 'Hello!' ]
 * ```
 */
export function recordTo(
  store: RecordToStore,
  where: string | BranchRef,
  options: RecordToOptions = {},
): ModelRecorder {
  checkMethod(store, 'store', 'append', 'a store, such as openStore() returns')
  if (typeof where === 'string') checkName(where, 'key')
  else checkObject(where, 'where', 'a key or a branch')
  checkObject(options, 'options')
  const { source = systemRecorderSource, conversation, timeouts, ...rest } = options
  const scope = recordingScope(store, where)
  let home: BranchRef | null = null
  const exchanges = createExchanges(store, findHome, source, {
    onBusy: 'fork',
    ...rest,
    timeouts: { answeredMs: 1_000, callsMs: 10_000, retryMs: 10_000, busyMs: 2_000, ...timeouts },
  })

  const middleware: LanguageModelV4Middleware = {
    specificationVersion: 'v4',
    async wrapGenerate({ doGenerate, params, model }) {
      if (scope.isInside) return doGenerate()
      const answer = recordAnswer(await exchanges.enter(params, model), params.abortSignal)
      const result = await attempt(() => scope.run(doGenerate), answer)
      await answer.whole(result)
      return result
    },
    async wrapStream({ doStream, params, model }) {
      if (scope.isInside) return doStream()
      const answer = recordAnswer(await exchanges.enter(params, model), params.abortSignal)
      const result = await attempt(() => scope.run(doStream), answer)
      return { ...result, stream: watchStream(result.stream, answer.watcher) }
    },
  }

  return Object.assign((model: AnyLanguageModel | string) => recordedModel(model, middleware), {
    middleware,
    tools: <T extends object>(tools: T) => watchTools(tools, exchanges.tools, scope),
    toolApproval: <T>(given: T) => watchToolApproval(given, exchanges.tools),
    approvals: async () => {
      const { conversationId } = await exchanges.place()
      return store.listApprovals({ conversationId })
    },
    place: () => exchanges.place(),
    messages: async (options: MessagesOptions = {}) =>
      nextMessages(store, await headOf(options.branch), options),
    resume: async (options: MessagesOptions = {}) =>
      interruptedCall(store, await headOf(options.branch), options),
    end: () => exchanges.end(),
    [Symbol.asyncDispose]: async () => void (await exchanges.end()),
  })

  /** Looks the key up again: its conversation may have expired or gone to the trash since the last call. */
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

  async function headOf(branch: BranchRef | null | undefined): Promise<MessageId | null> {
    return (await store.getBranch(branch ?? (await exchanges.settled()))).head
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

function recordedModel(
  given: AnyLanguageModel | string,
  middleware: LanguageModelV4Middleware,
): LanguageModelV4 {
  const model = typeof given === 'string' ? namedModel(given) : asLanguageModel(given)
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
