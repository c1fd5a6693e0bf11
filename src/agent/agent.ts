import { uncalibrated } from '../context/fit/calibrate.ts'
import { windowOf } from '../context/fit/model-windows.ts'
import type { Window } from '../context/fit/window.ts'
import type { Block } from '../core/block.ts'
import { InvalidError } from '../core/errors.ts'
import type { NewMessage } from '../core/message.ts'
import { savedWithin } from '../recorder/waiting-turns.ts'
import { type Conversing, converse, goOn } from './converse.ts'
import type { Reply } from './events.ts'
import type { Target } from './journal.ts'
import { createLanes } from './lane.ts'
import { memoryJournal, targetName } from './memory-journal.ts'
import type { AgentOptions, SendOptions } from './options.ts'
import { readResult } from './read-result.ts'
import { createRecollection } from './recollection.ts'
import { type Run, startRun } from './run.ts'
import { createShown } from './shown.ts'
import { storedJournal } from './stored-journal.ts'
import { checkTools, readResultName } from './tool.ts'

/** Answers people, and keeps what was said. */
export interface Agent {
  /** Says something in a conversation. Messages of one conversation are taken one at a time, in the order
   *  they were sent; those of different conversations side by side. */
  send(target: Target, words: string | NewMessage, options?: SendOptions): Run
  /** The same for those who only want the reply. Throws if the turn fails. */
  ask(target: Target, words: string | NewMessage, options?: SendOptions): Promise<Reply>
  /** Goes on where a conversation was interrupted: asks the model again, and runs the tools that nobody had
   *  started, but none a second time unless it is repeatable. Throws InvalidError if its last turn came to
   *  its end. */
  resume(target: Target, options?: SendOptions): Run
  /** Stops what is running, keeps what was said, and takes nothing more. Waits up to `withinMs` (default
   *  30,000) for messages that the store has not taken yet. A store that was lent stays open. */
  close(options?: { readonly withinMs?: number }): Promise<void>
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** An agent: a model, its tools, and a store that remembers.
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
  const conversing = conversingOf(options)
  const lanes = createLanes()
  const running = new Set<Run>()
  let closed = false

  function start(target: Target, outer: AbortSignal | undefined, work: Parameters<typeof startRun>[0]): Run {
    if (closed) throw new InvalidError('agent', 'it has been closed')
    const run = startRun((emit, signal) => lanes(targetName(target), () => work(emit, signal)), outer)
    running.add(run)
    const leave = () => running.delete(run)
    run.result().then(leave, leave)
    return run
  }

  const send: Agent['send'] = (target, words, sending = {}) => {
    const message = typeof words === 'string' ? ({ role: 'user', blocks: words } as const) : words
    checkWords(message)
    return start(target, sending.signal, (emit, signal) =>
      converse(conversing, { target, words: [message], sending, emit, signal }),
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
    resume: (target, sending = {}) =>
      start(target, sending.signal, (emit, signal) =>
        goOn(conversing, { target, words: [], sending, emit, signal }),
      ),
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

/** The options with their defaults. */
function conversingOf(options: AgentOptions): Conversing {
  const { model, store = null, tools = {}, largeResult = 8_000, system = null } = options
  checkTools(tools)
  const { limit } = windowOf(model.id)
  const window: Window = { limit, reserveOutput: options.maxOutput ?? 0, ...options.window }
  return {
    store,
    journal: store
      ? storedJournal(store, { prompt: system, model: model.id })
      : memoryJournal(options.history),
    mode: options.mode ?? 'live',
    strategy: options.strategy ?? 'sliding_window',
    summarizer: summarizerOf(options, window),
    recollection: store && options.recall ? createRecollection(store) : null,
    lastSeen: new Map(),
    system,
    parts: {
      model,
      tools,
      readResult: { [readResultName]: readResult(store, largeResult) },
      window,
      count: options.count,
      maxSteps: options.maxSteps ?? 50,
      maxOutput: options.maxOutput,
      calibration: { current: uncalibrated },
      shown: createShown(largeResult, options.count),
    },
  }
}

/** The agent's own model has the agent's window; another one has its own. */
function summarizerOf({ summarizer, model }: AgentOptions, window: Window): Conversing['summarizer'] {
  if (!summarizer || summarizer === model) return { model, window }
  return { model: summarizer, window: { limit: windowOf(summarizer.id).limit } }
}

/** A message without words is no question: no provider takes one. */
function checkWords({ blocks }: NewMessage): void {
  const isEmpty = typeof blocks === 'string' ? blocks.trim() === '' : blocks.every(isBlank)
  if (isEmpty) throw new InvalidError('words', 'must not be empty')
}

function isBlank(block: Block): boolean {
  return block.type === 'text' && String(block.text).trim() === ''
}
