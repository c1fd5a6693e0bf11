import type { Window } from '../context/fit/window.ts'
import { summarizeIfDue } from '../context/summary/summarize-if-due.ts'
import { InvalidError, UnavailableError } from '../core/errors.ts'
import { type NewMessage, textOf } from '../core/message.ts'
import type { Model } from '../core/model.ts'
import { addUsage, type Turn } from '../core/turn.ts'
import type { TurnReport } from '../recorder/recording.ts'
import { createApprovals } from './approval/approvals.ts'
import { approvalOf, withUnapprovedResults } from './approval/unapproved-calls.ts'
import {
  type BegunTurn,
  type History,
  type HistoryStore,
  type ResolvedTarget,
  systemPromptOf,
  type Target,
} from './history/history.ts'
import type { LastSeen } from './history/last-seen.ts'
import { localMessage } from './history/local-message.ts'
import { continuationPrompt, findInterruption, type Interruption } from './interruption.ts'
import { mergeModelOptions } from './model-options.ts'
import type { AgentOptions, AgentStore, SendOptions } from './options.ts'
import type { Recollection } from './recall/recollection.ts'
import type { AgentEvent, Reply } from './run/events.ts'
import {
  type LoopSettings,
  pinnedTokens,
  runSteps,
  type TurnProgress,
  type UnansweredCalls,
  withTokens,
} from './run-steps.ts'

/**
 * The order of a turn, from `agent.send` to the model and back:
 *
 * 1. `agent.ts` queues turns of the same conversation, and starts `runTurn` (or `resumeTurn`).
 * 2. `withTurn` finds or creates the conversation, together with as many messages as the window needs
 *    (`history/`), and begins the turn (`recorder/`): the message of the user is stored before the model is
 *    called. A second turn of the same key is recognized here.
 * 3. `readHistory` reads what is not known yet, and makes a summary first, if one is due.
 * 4. `runSteps` alternates between `callModel` and `runCalls`. Each answer and each tool result is stored as
 *    it comes.
 * 5. `withTurn` ends the turn as complete, interrupted or failed, and returns the reply.
 *
 * While storage fails, the turn continues: the recorder queues its writes, and `lastSeen` replaces the
 * history.
 */

/** An agent's options with their defaults, and what it keeps between turns. */
export interface AgentState {
  readonly store: AgentStore | null
  readonly histories: HistoryStore
  readonly mode: NonNullable<AgentOptions['mode']>
  readonly strategy: NonNullable<AgentOptions['strategy']>
  readonly summarizer: {
    readonly model: Model
    readonly window: Window
    /** Further instructions for the model. */
    readonly instructions?: string
  }
  /** Null without the option `recall`. */
  readonly recollection: Recollection | null
  readonly system: string | null
  readonly loop: LoopSettings
  readonly lastSeen: LastSeen
}

/** The input of a turn. `words` is empty to resume one. */
export interface TurnInput {
  readonly target: Target
  readonly words: readonly NewMessage[]
  readonly options: SendOptions
  readonly signal: AbortSignal
  emit(event: AgentEvent): void
}

/** Runs the turn of a new message. A message that was sent before with the same key is not stored again: its
 *  turn is continued, or its answer is returned. */
export function runTurn(agent: AgentState, input: TurnInput): Promise<Reply> {
  return withTurn(agent, input, 'make', async turn => {
    const history = await readHistory(turn)
    const { replayed } = turn.begun.recording
    if (replayed === undefined) {
      const messages = await withUnapprovedResults(history.messages, agent.store)
      await continueTurn(turn, { ...history, messages }, null)
      return null
    }
    const interruption = await findInterruption(history.messages, agent.loop.tools, agent.store)
    if (replayed === 'complete' || !interruption) return earlierTurn(turn, history)
    if (isLate(turn.begun)) emitStarted(turn)
    await continueFrom(turn, history, interruption)
    return null
  })
}

/** Continues an interrupted turn. A turn whose last answer was complete is ended, and its answer is
 *  returned. */
export function resumeTurn(agent: AgentState, input: TurnInput): Promise<Reply> {
  return withTurn(agent, input, 'find', async turn => {
    const history = await readHistory(turn)
    const interruption = await findInterruption(history.messages, agent.loop.tools, agent.store)
    if (interruption) {
      await continueFrom(turn, history, interruption)
      return null
    }
    if (!turn.begun.recording.reopened) {
      throw new InvalidError('conversation', 'there is nothing to resume: its last turn has come to its end')
    }
    const answer = history.messages.at(-1)
    turn.progress.text = answer ? textOf(answer) : ''
    turn.progress.stop = 'stop'
    return null
  })
}

/** Reports where the turn continues, and runs its steps. */
async function continueFrom(turn: OpenTurn, history: History, interruption: Interruption): Promise<void> {
  const { at, unanswered, unknown } = interruption
  const run = unanswered?.calls ?? []
  await checkApprovedTools(turn, unanswered)
  const data = { at, run: run.map(call => call.name), unknown: unknown.map(call => call.name) }
  await turn.begun.recording.trace([{ type: 'resume', data }])
  turn.input.emit({ type: 'resumed', at, run, unknown })
  await continueTurn(turn, at === 'answer' ? withNudge(history) : history, unanswered)
}

/** Refuses to continue the turn of another program, whose tools are not here: an approved call stays for that
 *  program. Without an approval, the model is told that there is no such tool. */
async function checkApprovedTools({ agent }: OpenTurn, unanswered: UnansweredCalls | null): Promise<void> {
  const { store, loop } = agent
  const missing = unanswered?.calls.filter(({ name }) => !Object.hasOwn(loop.tools, name)) ?? []
  if (!store || !unanswered?.message || missing.length === 0) return
  const [asked] = await store.getMessages([unanswered.message])
  for (const call of missing) {
    if (!asked || (await approvalOf(store, asked, call)) === null) continue
    const problem = `the call of ${JSON.stringify(call.name)} needs the program that asked for its approval`
    throw new InvalidError('tools', `${problem}: this agent does not have that tool`)
  }
}

/** The earlier turn with the same key, whose last answer becomes the text of the reply. Null if it was
 *  reopened: it ends now, as any other turn. */
async function earlierTurn(turn: OpenTurn, { messages }: History): Promise<Turn | null> {
  const { agent, resolved, input, begun, progress } = turn
  const { key } = input.options
  const { store } = agent
  const earlier = store && key !== undefined ? await store.findTurn(resolved.conversation!.id, key) : null
  const answer = messages.findLast(message => message.turn === earlier?.first && message.role === 'assistant')
  progress.text = answer ? textOf(answer) : ''
  progress.stop = 'stop'
  if (!isLate(begun)) return null
  emitStarted(turn, earlier?.key)
  return earlier
}

/** Whether the turn of the given key had ended before. It stays as it is; only more messages would begin
 *  another one. */
function isLate({ recording }: BegunTurn): boolean {
  return recording.replayed !== undefined && !recording.reopened
}

function emitStarted({ resolved, begun, input }: Omit<OpenTurn, 'agent' | 'progress'>, key?: string): void {
  const { recording } = begun
  const branch = resolved.branch === null ? null : recording.branch
  input.emit({ type: 'started', turn: key ?? recording.key, branch, forked: recording.forked })
}

/** A turn in progress. */
interface OpenTurn {
  readonly agent: AgentState
  readonly input: TurnInput
  readonly resolved: ResolvedTarget
  readonly begun: BegunTurn
  readonly progress: TurnProgress
}

async function continueTurn(
  turn: OpenTurn,
  history: History,
  unanswered: UnansweredCalls | null,
): Promise<void> {
  const { agent, resolved, begun, progress, input } = turn
  const { emit, signal } = input
  progress.path.push(...history.messages)
  const notes = (await agent.recollection?.notesFor(resolved.conversation, history, emit)) ?? []
  const { recording } = begun
  await runSteps(
    agent.loop,
    { resolved, recording, history, system: systemOf(agent, resolved), notes, unanswered, signal, emit },
    progress,
  )
}

/** Begins a turn, runs `work` in it, and ends it in every case. If `work` returns an earlier turn, the reply
 *  is about that one. */
async function withTurn(
  state: AgentState,
  input: TurnInput,
  otherwise: 'make' | 'find',
  work: (turn: OpenTurn) => Promise<Turn | null>,
): Promise<Reply> {
  const agent = { ...state, loop: loopOfTurn(state, input.options) }
  const resolved = await resolve(agent, input.target, otherwise)
  const begun = await begin(agent, resolved, input)
  if (!isLate(begun)) emitStarted({ resolved, begun, input })
  let earlier: Turn | null = null
  const progress: TurnProgress = {
    path: [],
    text: '',
    steps: 0,
    usage: {},
    unrecorded: {},
    stop: 'aborted',
    waiting: [],
  }
  let failure: { readonly error: unknown } | null = null
  try {
    earlier = await work({ agent, input, resolved, begun, progress })
  } catch (error) {
    failure = { error }
  }
  const aborted = failure !== null && input.signal.aborted
  const isWaiting = failure === null && progress.waiting.length > 0
  const status = aborted || isWaiting ? 'interrupted' : failure === null ? 'complete' : 'failed'
  const report = await begun.recording.end(status, { usage: progress.unrecorded })
  // Also of a failed turn: its question may be queued while storage cannot be read.
  agent.lastSeen.keep(resolved, progress.path, report)
  if (failure !== null && !aborted) throw failure.error
  const reply = replyOf(progress, resolved, begun, report)
  return earlier ? replyAbout(earlier, reply) : reply
}

/** The settings with the options of one turn. */
function loopOfTurn({ loop, store }: AgentState, sending: SendOptions): LoopSettings {
  const options = mergeModelOptions(loop.options, sending)
  const reserveOutput = loop.reserveOutput ?? options.maxOutput ?? 0
  const { approve } = sending
  const approvals = approve ? createApprovals(approve, loop.approvalMemory, store) : loop.approvals
  return { ...loop, options, approvals, window: { ...loop.window, reserveOutput } }
}

/** The system prompt of a turn: the agent's own, unless the conversation keeps the one that it began with. */
function systemOf(agent: AgentState, resolved: ResolvedTarget): string | null {
  return systemPromptOf(resolved, agent.system)
}

async function begin(agent: AgentState, resolved: ResolvedTarget, input: TurnInput): Promise<BegunTurn> {
  const { loop, mode } = agent
  const system = systemOf(agent, resolved)
  const { key, onBusy = 'wait' } = input.options
  return agent.histories.beginTurn(resolved, {
    words: input.words.map(message => withTokens(message, loop.count)),
    mode,
    onBusy,
    model: loop.model.id,
    signal: input.signal,
    onTrouble: trouble => input.emit({ type: 'trouble', trouble }),
    onWait: wait => input.emit({ type: 'waiting', ...wait }),
    ...(key === undefined ? {} : { key }),
    ...(system === null ? {} : { prompt: system }),
  })
}

async function readHistory(turn: OpenTurn): Promise<History> {
  const { agent, begun, input } = turn
  const { window } = agent.loop
  try {
    const history = await begun.read(window)
    return (await summarizeHistory(turn, history)) ? await begun.read(window) : history
  } catch (error) {
    const seen = agent.lastSeen.find(input.target)?.history
    if (!(error instanceof UnavailableError) || !seen) throw error
    return withWords(seen, input.words)
  }
}

/** Makes a summary if one is due. Returns true if there is a new one to read. */
async function summarizeHistory(turn: OpenTurn, history: History): Promise<boolean> {
  const { agent, resolved, begun, progress, input } = turn
  const { store, strategy, loop, summarizer } = agent
  const { head } = begun.recording
  if (strategy !== 'summarization' || !store || !resolved.conversation || head === null) return false
  const result = await summarizeIfDue(
    store,
    { conversationId: resolved.conversation.id, head },
    history,
    loop.window,
    {
      ...summarizer,
      signal: input.signal,
      pinned: await pinnedTokens(systemOf(agent, resolved), loop.tools),
    },
  )
  if (result === null) return false
  progress.usage = addUsage(progress.usage, result.usage)
  progress.unrecorded = addUsage(progress.unrecorded, result.usage)
  if (result.outcome === 'nothing') return false
  input.emit({ type: 'summary', outcome: result.outcome, messages: result.messages })
  return result.outcome !== 'busy'
}

/** Finds the conversation of a target. While storage is unavailable, returns the last known state. */
async function resolve(
  agent: AgentState,
  target: Target,
  otherwise: 'make' | 'find',
): Promise<ResolvedTarget> {
  try {
    return await agent.histories.resolve(target, otherwise, agent.loop.window)
  } catch (error) {
    const seen = agent.lastSeen.find(target)
    if (!(error instanceof UnavailableError) || !seen) throw error
    return seen.resolved
  }
}

function withWords(history: History, words: readonly NewMessage[]): History {
  const messages = [...history.messages]
  for (const message of words) messages.push(localMessage(message, messages.at(-1), null))
  return { ...history, messages }
}

/** Asks the model to continue its interrupted answer. The message is in this context only and is not
 *  stored. */
function withNudge(history: History): History {
  return withWords(history, [{ role: 'user', content: continuationPrompt }])
}

function replyOf(
  progress: TurnProgress,
  resolved: ResolvedTarget,
  begun: BegunTurn,
  report: TurnReport,
): Reply {
  const complete = report.status === 'complete'
  return {
    text: progress.text,
    status: complete ? 'complete' : 'interrupted',
    stop: complete || progress.waiting.length > 0 ? progress.stop : 'aborted',
    approvals: progress.waiting,
    steps: progress.steps,
    usage: progress.usage,
    turn: begun.recording.key,
    branch: resolved.branch === null ? null : report.branch,
    head: report.head,
    saved: report.saved,
    unsaved: report.unsaved,
    ...(report.whenSaved && { whenSaved: report.whenSaved }),
  }
}

/** The reply of an earlier turn: its own key, usage and status. */
function replyAbout({ key, usage, status }: Turn, reply: Reply): Reply {
  if (status === 'complete') return { ...reply, turn: key, usage }
  return { ...reply, turn: key, usage, status: 'interrupted', stop: 'aborted' }
}
