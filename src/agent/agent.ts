import { uncalibrated } from '../context/fit/calibrate.ts'
import { windowOf } from '../context/fit/model-windows.ts'
import { type Window, windowFields } from '../context/fit/window.ts'
import { asBlocks, type Block } from '../core/block.ts'
import { checkChoice, checkFunction, checkKnownFields, checkMethod, checkObject } from '../core/check.ts'
import { InvalidError } from '../core/errors.ts'
import { typeName } from '../core/json.ts'
import type { NewMessage } from '../core/message.ts'
import type { Model } from '../core/model.ts'
import { createKeyedQueue } from '../core/wait.ts'
import { savedWithin } from '../recorder/waiting-turns.ts'
import { type AgentModel, resolveModel } from './agent-model.ts'
import { approvalMemory } from './approval/approval.ts'
import { createApprovals } from './approval/approvals.ts'
import { memoryHistory, type Target, targetName } from './history/history.ts'
import { createLastSeen } from './history/last-seen.ts'
import { storedHistory } from './history/stored-history.ts'
import { checkModelOptions, modelOptionsOf } from './model-options.ts'
import { type AgentOptions, agentFields, type SendOptions, type Summarizer, sendFields } from './options.ts'
import { createRecollection } from './recall/recollection.ts'
import type { Reply } from './run/events.ts'
import { type Run, startRun } from './run/run.ts'
import { type AgentState, resumeTurn, runTurn } from './run-turn.ts'
import { readResult, shortenToolResults } from './tools/shorten-tool-results.ts'
import { agentTools, readResultName } from './tools/tool.ts'

/** A model with tools and a memory. */
export interface Agent {
  /** Sends a message to a conversation. Turns of one conversation run one after the other, in the order of
   *  the calls; those of different conversations run in parallel.
   *
   * @example
   * ```ts
   * import { createAgent } from 'skein/agent'
   * import { scripted } from 'skein/models'
   *
   * await using agent = createAgent({ model: scripted({ script: ['Hello, Ada.'] }) })
   * const run = agent.send('talk', 'I am Ada.')
   * let streamed = ''
   * for await (const event of run) if (event.type === 'text') streamed += event.text
   * const { text, status } = await run.result()
   * console.log(streamed === text, status) // true complete
   * ```
   */
  send(target: Target, words: string | NewMessage, options?: SendOptions): Run
  /** The same, for callers that need only the reply. Throws if the turn fails.
   *
   * @example
   * ```ts
   * import { createAgent } from 'skein/agent'
   * import { scripted } from 'skein/models'
   *
   * await using agent = createAgent({ model: scripted({ script: ['Four.'] }) })
   * const { text, usage } = await agent.ask('sums', 'What is 2 + 2?')
   * console.log(text, usage.output) // Four. 2
   * ```
   */
  ask(target: Target, words: string | NewMessage, options?: SendOptions): Promise<Reply>
  /** Continues an interrupted turn: calls the model again, and runs the tools that had not started; a tool
   *  that had started is run again only if it is repeatable. Throws InvalidError if the last turn is
   *  complete.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   * import { createAgent } from 'skein/agent'
   * import { scripted } from 'skein/models'
   *
   * await using store = await openStore(':memory:')
   * const script = [{ text: 'Once upon a time', breakAfter: 2 }, 'Once upon a time there was a whale.']
   * await using agent = createAgent({ store, model: scripted({ script }) })
   * await agent.ask('story', 'Tell me a story.').catch(error => console.log(error.message))
   * // scripted: the answer broke off
   *
   * const { text } = await agent.resume('story').result()
   * console.log(text) // Once upon a time there was a whale.
   * ```
   */
  resume(target: Target, options?: SendOptions): Run
  /** Stops running turns, keeps their messages, and refuses new ones. Waits up to `withinMs` (default 30,000)
   *  for messages that are queued because storage failed. The store stays open. */
  close(options?: { readonly withinMs?: number }): Promise<void>
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Creates an agent: a model, its tools, and a store for its conversations.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { createAgent } from 'skein/agent'
 * import { scripted } from 'skein/models'
 *
 * await using store = await openStore(':memory:')
 * await using agent = createAgent({ store, model: scripted() })
 * await agent.ask('cli:default', 'My name is Ada.')
 *
 * // The key names the conversation: another process that opens the same store continues it.
 * const { text } = await agent.ask('cli:default', 'What is my name?')
 * console.log(text) // Your name is Ada.
 * ```
 */
export function createAgent(options: AgentOptions): Agent {
  const state = stateOf(options)
  const queue = createKeyedQueue()
  const running = new Set<Run>()
  let closed = false

  function start(target: Target, outer: AbortSignal | undefined, work: Parameters<typeof startRun>[0]): Run {
    if (closed) throw new InvalidError('agent', 'it has been closed')
    const run = startRun((emit, signal) => queue(targetName(target), () => work(emit, signal)), outer)
    running.add(run)
    const leave = () => running.delete(run)
    run.result().then(leave, leave)
    return run
  }

  const send: Agent['send'] = (target, words, sending = {}) => {
    const message = typeof words === 'string' ? ({ role: 'user', content: words } as const) : words
    checkWords(message)
    checkSending(sending)
    return start(target, sending.signal, (emit, signal) =>
      runTurn(state, { target, words: [message], options: sending, emit, signal }),
    )
  }

  async function close({ withinMs = 30_000 } = {}): Promise<void> {
    closed = true
    for (const run of running) run.abort(new InvalidError('agent', 'it is being closed'))
    await Promise.allSettled([...running].map(run => run.result()))
    if (options.store) await savedWithin(options.store, withinMs)
  }

  return {
    send,
    ask: (target, words, sending) => send(target, words, sending).result(),
    resume(target, sending = {}) {
      checkSending(sending)
      return start(target, sending.signal, (emit, signal) =>
        resumeTurn(state, { target, words: [], options: sending, emit, signal }),
      )
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

const strategies = ['sliding_window', 'summarization'] as const

/** The options with their defaults. */
function stateOf(options: AgentOptions): AgentState {
  checkObject(options, 'options')
  const { store = null, largeResult = 8_000, system = null } = options
  if (store !== null) checkMethod(store, 'store', 'append', 'a store, such as openStore() returns')
  const model = resolveModel(options.model, 'model')
  const tools = agentTools(options.tools ?? {})
  checkOptions(options)
  const { limit } = windowOf(model.id)
  const memory = options.approvals ?? approvalMemory()
  const window: Window = { limit, reserveOutput: options.maxOutput ?? 0, ...options.window }
  return {
    store,
    histories: store
      ? storedHistory(store, { prompt: system, model: model.id })
      : memoryHistory(options.history),
    mode: options.mode ?? 'live',
    strategy: options.strategy ?? 'sliding_window',
    summarizer: summarizerOf(options.summarizer, model, window),
    recollection: store && options.recall ? createRecollection(store, queryOf(options.recall)) : null,
    lastSeen: createLastSeen(),
    system,
    loop: {
      model,
      tools,
      approvals: createApprovals(options.approve, memory, store),
      approvalMemory: memory,
      readResult: { [readResultName]: readResult(store, largeResult) },
      window,
      count: options.count,
      maxSteps: options.maxSteps ?? 50,
      options: modelOptionsOf(options),
      reserveOutput: options.window?.reserveOutput,
      calibration: options.calibration ?? { current: uncalibrated },
      shortenResults: shortenToolResults(largeResult, options.count),
      speakers: options.speakers ?? false,
    },
  }
}

/** Checks what a program without types may get wrong. Throws InvalidError. */
function checkOptions(options: AgentOptions): void {
  checkKnownFields(options, 'options', agentFields)
  const { system, approve, strategy, mode, window } = options
  checkModelOptions(options)
  if (system !== undefined && typeof system !== 'string')
    throw new InvalidError('system', `must be text, got ${typeName(system)}`)
  if (approve !== undefined) checkFunction(approve, 'approve')
  if (strategy !== undefined) checkChoice(strategy, 'strategy', strategies)
  if (mode !== undefined) checkChoice(mode, 'mode', ['live', 'at_once'])
  if (window !== undefined) checkKnownFields(window, 'window', windowFields)
}

function checkSending(options: SendOptions): void {
  checkKnownFields(options, 'options', sendFields)
  checkModelOptions(options)
  const { signal, onBusy, approve } = options
  if (signal !== undefined) checkMethod(signal, 'signal', 'addEventListener', 'an AbortSignal')
  if (onBusy !== undefined) checkChoice(onBusy, 'onBusy', ['wait', 'refuse', 'fork'])
  if (approve !== undefined) checkFunction(approve, 'approve')
}

function queryOf(recall: NonNullable<AgentOptions['recall']>): string | null {
  return typeof recall === 'object' ? recall.query : null
}

/** The agent's own model has the agent's window; another model has its own. */
function summarizerOf(
  given: AgentOptions['summarizer'],
  model: Model,
  window: Window,
): AgentState['summarizer'] {
  if (given === undefined) return { model, window }
  if (isSummarizer(given)) {
    const { instructions } = given
    if (typeof instructions !== 'string')
      throw new InvalidError('summarizer.instructions', `must be text, got ${typeName(instructions)}`)
    return { ...summarizerOf(given.model, model, window), instructions }
  }
  const summarizer = resolveModel(given, 'summarizer')
  return summarizer.id === model.id
    ? { model: summarizer, window }
    : { model: summarizer, window: { limit: windowOf(summarizer.id).limit } }
}

function isSummarizer(given: AgentModel | Summarizer): given is Summarizer {
  return typeof given === 'object' && given !== null && 'instructions' in given
}

/** No provider accepts an empty message. */
function checkWords(words: NewMessage): void {
  checkObject(words, 'words', 'a text or a message')
  const { content } = words
  if (typeof content !== 'string' && !Array.isArray(content))
    throw new InvalidError('words', `must be a text or a message, got ${typeName(content)} as content`)
  const isEmpty = asBlocks(content).every(isBlank)
  if (isEmpty) throw new InvalidError('words', 'must not be empty')
}

function isBlank(block: Block): boolean {
  return block.type === 'text' && String(block.text).trim() === ''
}
