import { budgetOf, type Window } from '../context/fit/window.ts'
import { summarize } from '../context/summary/summarize.ts'
import { needsSummary } from '../context/summary/summary-plan.ts'
import { InvalidError, UnavailableError } from '../core/errors.ts'
import { type NewMessage, textOf } from '../core/message.ts'
import type { Model } from '../core/model.ts'
import { addUsage } from '../core/turn.ts'
import type { TurnReport } from '../recorder/recording.ts'
import { systemRecorderSource } from '../system/source.ts'
import type { AgentEvent, Reply } from './events.ts'
import type { History, Journal, Meeting, Opened, Target } from './journal.ts'
import { localMessage } from './local-message.ts'
import { targetName } from './memory-journal.ts'
import type { AgentOptions, AgentStore, SendOptions } from './options.ts'
import type { Recollection } from './recollection.ts'
import { type Stopped, whereStopped } from './resume.ts'
import { counted, type Progress, pinnedTokens, type TurnParts, takeSteps, type Unanswered } from './turn.ts'

/** An agent's options with their defaults, and what it remembers between turns. */
export interface Conversing {
  readonly store: AgentStore | null
  readonly journal: Journal
  readonly mode: NonNullable<AgentOptions['mode']>
  readonly strategy: NonNullable<AgentOptions['strategy']>
  readonly summarizer: { readonly model: Model; readonly window: Window }
  /** Null if new conversations begin with nothing. */
  readonly recollection: Recollection | null
  readonly system: string | null
  readonly parts: TurnParts
  /** What was last seen of each conversation, for the time when the storage cannot be read. */
  readonly lastSeen: Map<string, { readonly meeting: Meeting; readonly history: History }>
}

/** A message, or the wish to go on, on its way. */
export interface Sent {
  readonly target: Target
  readonly words: readonly NewMessage[]
  readonly sending: SendOptions
  readonly signal: AbortSignal
  emit(event: AgentEvent): void
}

/** Takes a message: keeps it, reads what the model has to know, and runs the turn. A message that was taken
 *  before under the same key is not said twice: its answer is given again, or gone on with. */
export function converse(conversing: Conversing, sent: Sent): Promise<Reply> {
  return inTurn(conversing, sent, 'make', async turn => {
    const history = await readHistory(turn)
    const { replayed } = turn.opened.recording
    if (replayed === undefined) return step(turn, history, null)
    const stopped = await whereStopped(history.messages, conversing.parts.tools, conversing.store)
    if (replayed !== 'complete' && stopped) return stepFrom(turn, history, stopped)
    turn.progress.text = await answerBefore(turn, history)
    turn.progress.stop = 'stop'
  })
}

/** Goes on where the conversation was interrupted. A turn that had said everything when it was interrupted is
 *  ended, and its answer given. */
export function goOn(conversing: Conversing, sent: Sent): Promise<Reply> {
  return inTurn(conversing, sent, 'find', async turn => {
    const history = await readHistory(turn)
    const stopped = await whereStopped(history.messages, conversing.parts.tools, conversing.store)
    if (stopped) return stepFrom(turn, history, stopped)
    if (!turn.opened.recording.reopened) {
      throw new InvalidError('conversation', 'there is nothing to resume: its last turn has come to its end')
    }
    const answer = history.messages.at(-1)
    turn.progress.text = answer ? textOf(answer) : ''
    turn.progress.stop = 'stop'
  })
}

/** Says how a turn goes on, and takes its steps. */
async function stepFrom(turn: OpenTurn, history: History, stopped: Stopped): Promise<void> {
  const { at, unanswered, unknown } = stopped
  const run = unanswered?.calls ?? []
  const data = { at, run: run.map(call => call.name), unknown: unknown.map(call => call.name) }
  await turn.opened.recording.trace([{ type: 'resume', data }])
  turn.sent.emit({ type: 'resumed', at, run, unknown })
  await step(turn, at === 'answer' ? withNudge(history) : history, unanswered)
}

/** The last answer of the turn that had this message before. */
async function answerBefore({ conversing, meeting, sent }: OpenTurn, { messages }: History): Promise<string> {
  const turns = (await conversing.store?.listTurns(meeting.conversation!.id)) ?? []
  const before = turns.find(turn => turn.key === sent.sending.key)
  const answer = messages.findLast(message => message.turn === before?.first && message.role === 'assistant')
  return answer ? textOf(answer) : ''
}

/** A turn that is open. */
interface OpenTurn {
  readonly conversing: Conversing
  readonly sent: Sent
  readonly meeting: Meeting
  readonly opened: Opened
  readonly progress: Progress
}

async function step(turn: OpenTurn, history: History, unanswered: Unanswered | null): Promise<void> {
  const { conversing, meeting, opened, progress, sent } = turn
  const { emit, signal } = sent
  progress.path.push(...history.messages)
  const notes = (await conversing.recollection?.notesFor(meeting, history, emit)) ?? []
  const { recording } = opened
  await takeSteps(
    conversing.parts,
    { meeting, recording, history, system: systemOf(turn), notes, unanswered, signal, emit },
    progress,
  )
}

/** Opens a turn, and ends it on every way out. */
async function inTurn(
  conversing: Conversing,
  sent: Sent,
  otherwise: 'make' | 'find',
  work: (turn: OpenTurn) => Promise<void>,
): Promise<Reply> {
  const meeting = await meet(conversing, sent.target, otherwise)
  const opened = await begin(conversing, meeting, sent)
  const progress: Progress = { path: [], text: '', steps: 0, usage: {}, unrecorded: {}, stop: 'aborted' }
  let failure: { readonly error: unknown } | null = null
  try {
    await work({ conversing, sent, meeting, opened, progress })
  } catch (error) {
    failure = { error }
  }
  const aborted = failure !== null && sent.signal.aborted
  const status = failure === null ? 'complete' : aborted ? 'interrupted' : 'failed'
  const report = await opened.recording.end(status, { usage: progress.unrecorded })
  // A failed turn too: its question may wait to be stored while the storage cannot be read.
  remember(conversing, meeting, sent.target, progress)
  if (failure !== null && !aborted) throw failure.error
  return replyOf(progress, meeting, opened, report)
}

/** The prompt of a turn: the agent's own, unless the conversation says that it keeps the one it began
 *  with. */
function systemOf({ conversing, meeting }: Pick<OpenTurn, 'conversing' | 'meeting'>): string | null {
  const { promptPolicy = 'rebuild', prompt = null } = meeting.conversation ?? {}
  return promptPolicy === 'rebuild' ? conversing.system : (prompt?.text ?? conversing.system)
}

async function begin(conversing: Conversing, meeting: Meeting, sent: Sent): Promise<Opened> {
  const { parts, mode } = conversing
  const system = systemOf({ conversing, meeting })
  const { key, onBusy = 'wait' } = sent.sending
  const opened = await conversing.journal.begin(meeting, {
    words: sent.words.map(message => counted(message, parts.count)),
    mode,
    onBusy,
    model: parts.model.id,
    signal: sent.signal,
    onTrouble: trouble => sent.emit({ type: 'trouble', trouble }),
    ...(key === undefined ? {} : { key }),
    ...(system === null ? {} : { prompt: system }),
  })
  const { recording } = opened
  const branch = meeting.branch === null ? null : recording.branch
  sent.emit({ type: 'started', turn: recording.key, branch, forked: recording.forked })
  return opened
}

async function readHistory(turn: OpenTurn): Promise<History> {
  const { conversing, opened, sent } = turn
  const { window } = conversing.parts
  try {
    const history = await opened.read(window)
    return (await summarized(turn, history)) ? await opened.read(window) : history
  } catch (error) {
    const seen = conversing.lastSeen.get(targetName(sent.target))?.history
    if (!(error instanceof UnavailableError) || !seen) throw error
    return withWords(seen, sent.words)
  }
}

/** Makes a summary if one is due. True if there is a new one to be read. */
async function summarized(turn: OpenTurn, history: History): Promise<boolean> {
  const { conversing, meeting, opened, progress, sent } = turn
  const { store, strategy, parts, summarizer } = conversing
  const { head } = opened.recording
  if (strategy !== 'summarization' || !store || !meeting.conversation || head === null) return false
  if (!needsSummary(history, parts.window, pinnedTokens(systemOf(turn), parts.tools))) return false
  const result = await summarize(
    store,
    { conversationId: meeting.conversation.id, head },
    {
      ...summarizer,
      // Sized by the window that it will stand in, which may not be that of the model that writes it.
      maxTokens: Math.max(1, Math.floor(budgetOf(parts.window) / 10)),
      holder: systemRecorderSource.holder(),
      after: systemRecorderSource.after,
      signal: sent.signal,
      ...(parts.window.keepRecent === undefined ? {} : { keepRecent: parts.window.keepRecent }),
    },
  )
  progress.usage = addUsage(progress.usage, result.usage)
  progress.unrecorded = addUsage(progress.unrecorded, result.usage)
  if (result.outcome === 'nothing') return false
  sent.emit({ type: 'summary', outcome: result.outcome, messages: result.messages })
  return result.outcome !== 'busy'
}

/** The storage may be away for a moment: whom we have met before, we know. */
async function meet(conversing: Conversing, target: Target, otherwise: 'make' | 'find'): Promise<Meeting> {
  try {
    return await conversing.journal.meet(target, otherwise)
  } catch (error) {
    const seen = conversing.lastSeen.get(targetName(target))
    if (!(error instanceof UnavailableError) || !seen) throw error
    return seen.meeting
  }
}

/** How many conversations are kept in mind. */
const mostSeen = 100

function remember(conversing: Conversing, meeting: Meeting, target: Target, { path }: Progress): void {
  const { lastSeen, store } = conversing
  if (!store || path.length === 0) return
  const name = targetName(target)
  lastSeen.delete(name)
  const older = path[0]!.depth
  const history = { messages: path, older, missing: older, summary: null, uncovered: null }
  lastSeen.set(name, { meeting, history })
  if (lastSeen.size > mostSeen) lastSeen.delete(lastSeen.keys().next().value!)
}

function withWords(history: History, words: readonly NewMessage[]): History {
  const messages = [...history.messages]
  for (const message of words) messages.push(localMessage(message, messages.at(-1), null))
  return { ...history, messages }
}

/** A model that finds its own half answer at the end needs somebody to say that it should go on. Nobody said
 *  so: it is in this context only. */
function withNudge(history: History): History {
  return withWords(history, [
    { role: 'user', blocks: '[Your last answer was interrupted. Go on where it stops.]' },
  ])
}

function replyOf(progress: Progress, meeting: Meeting, opened: Opened, report: TurnReport): Reply {
  const complete = report.status === 'complete'
  return {
    text: progress.text,
    status: complete ? 'complete' : 'interrupted',
    stop: complete ? progress.stop : 'aborted',
    steps: progress.steps,
    usage: progress.usage,
    turn: opened.recording.key,
    branch: meeting.branch === null ? null : report.branch,
    head: report.head,
    saved: report.saved,
    unsaved: report.unsaved,
    ...(report.whenSaved && { whenSaved: report.whenSaved }),
  }
}
