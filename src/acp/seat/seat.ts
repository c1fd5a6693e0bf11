import { UnavailableError } from '../../core/errors.ts'
import type { NewEvent } from '../../core/event.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { createSerialQueue, unlessAborted } from '../../core/wait.ts'
import { beginTurn } from '../../recorder/begin-turn.ts'
import type { TurnRecording } from '../../recorder/recording.ts'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import type { MemoryReport } from '../memory/memory-report.ts'
import { planNothing } from '../memory/plan-memory.ts'
import type { RunningAgent } from '../process/agent-process-slot.ts'
import { type CallChange, type Heard, isHistoryUpdate } from '../transcript/heard.ts'
import { recordTurn, type TurnRecorder } from '../transcript/record-turn.ts'
import { ConnectionEnded, RpcError } from '../wire/rpc-error.ts'
import { createHandOver, type HandOverOptions } from './hand-over.ts'
import { memoryTrace, withGivenHistory } from './injected-history.ts'
import { createLateUpdates, watchSilence } from './late-updates.ts'
import type { PromptEnd, SeatPrompt, SeatPromptResult } from './seat-prompt.ts'
import { costOfTurn, promptIn, replayIn, routeUpdate, type SeatState, sessionIn } from './seat-state.ts'
import {
  begunSession,
  createSessionKeeper,
  type SessionKeeperOptions,
  type SessionPlan,
} from './session-keeper.ts'
import { createSlashCommands } from './slash-commands.ts'
import { createUnstoredTurns, type UnstoredTurn } from './unstored-turns.ts'

export interface SeatOptions extends Omit<SessionKeeperOptions, 'telling' | 'source'>, HandOverOptions {
  readonly source?: RecorderSource
  /** Late updates could not be stored. They stay in memory, and are tried again. */
  onLateFailure?(error: unknown): void
  /** All turns that waited for the store are stored. */
  onStored?(): void
  /** A turn was dropped: too many wait for the store. */
  onLost?(): void
}

/** One branch, held by one session of one agent. It gives the agent its memory, stores prompts and answers,
 *  and decides which of the agent's updates are news. Used by the host and by the proxy. The states of a seat
 *  are in seat-state.ts. */
export interface Seat {
  /** The agent's session id; null if it has no session for this seat. */
  readonly sessionId: string | null
  /** The last message that the agent is known to have. */
  readonly seen: MessageId | null
  /** True if the session was resumed or loaded; false if it is new (S4-25). */
  readonly wasResumed: boolean
  /** True until the agent has been prompted in this session (S4-20). */
  readonly isFirstMessage: boolean
  /** How many turns wait in memory for the store. */
  readonly unstored: number
  /** True while a session is being opened: its id may not be known yet. */
  readonly isSitting: boolean
  /** Opens a session, if there is none, and returns the agent's answer. */
  sit(): Promise<JsonObject>
  /** The same, and a prompt does not wait for it to be stored. */
  open(): Promise<void>
  /** A client's own request has opened this session. The agent has the messages up to `seen`. */
  begun(sessionId: string, seen?: MessageId | null): void
  /** How the agent gets its memory, as of now. */
  memory(): Promise<MemoryReport>
  /** Stores the prompt, opens a session if there is none, injects the messages that the agent lacks, sends
   *  the prompt, and stores the answer. One prompt at a time, in the order of the calls. Rejects only if the
   *  prompt could not be stored. */
  prompt(prompt: SeatPrompt): Promise<SeatPromptResult>
  /** Sends a prompt that the store cannot take. The turn is kept in memory, and stored when the store is
   *  back. Rejects if the agent has no session. */
  promptUnstored(
    prompt: Pick<SeatPrompt, 'words' | 'signal' | 'send'>,
  ): Promise<Omit<SeatPromptResult, 'report'>>
  /** Takes an update of the agent. Returns `show` if a client should see it. */
  hear(heard: Heard): 'show' | 'hide'
  /** The agent asks for a permission, for this call if it is known: announced calls are stored first. */
  asked(call: CallChange | null): void
  /** Adds to the trace of the current turn. */
  trace(event: NewEvent): void
  /** The agent's process has ended. */
  vacate(): void
  /** Resolves when nothing is running and everything is stored. */
  idle(): Promise<void>
  /** The session is over: the agent makes a summary for the next one, if it may, and the file with the
   *  conversation is removed. */
  close(): Promise<void>
  /** The session is deleted: the file with the conversation is removed. */
  discard(): Promise<void>
}

/** How often a prompt is sent to an agent that dies before it answers. */
const mostAttempts = 2

export function createSeat(options: SeatOptions): Seat {
  const { store, source = systemRecorderSource } = options
  const watch = watchSilence(source)
  const handOver = createHandOver(options, watch)
  const { telling } = handOver
  const keeper = createSessionKeeper({ ...options, source, telling })
  const { move, planFor } = keeper
  /** The agent that got the last prompt. */
  let prompted: RunningAgent | null = null
  /** The recorder of the current turn. */
  let turn: Pick<TurnRecorder, 'hear' | 'settle' | 'trace'> | null = null
  const commands = createSlashCommands()
  /** The running prompt, if it is a slash command that was sent without the history up to `before`. */
  let untold: { readonly before: MessageId | null } | null = null
  const oneAtATime = createSerialQueue()
  const late = createLateUpdates(source, () => oneAtATime(storeLate))
  const unstored = createUnstoredTurns(source, {
    store: storeTurn,
    later: () => oneAtATime(() => unstored.storeAll()),
    onStored: () => options.onStored?.(),
    onLost: () => options.onLost?.(),
  })

  async function prompt(prompt: SeatPrompt): Promise<SeatPromptResult> {
    // Turns are stored in order, and a store that is away is tried again in the background only.
    if (unstored.count > 0) throw new UnavailableError('earlier turns wait for the store')
    await storeLate()
    const { words, onBusy = 'wait', key, signal, onTrouble, onWait, onEffect } = prompt
    const opening = {
      words,
      onBusy,
      model: options.agent,
      ...(key === undefined ? {} : { key }),
      ...(signal ? { signal } : {}),
      ...(onTrouble ? { onTrouble } : {}),
      ...(onWait ? { onWait } : {}),
    }
    const recording = await beginTurn(store, await options.branch(), opening, source)
    prompt.onBegun?.(recording)
    const recorder = recordTurn(recording, {
      source,
      ...(onEffect ? { onEffect } : {}),
      ...(onTrouble ? { onTrouble } : {}),
    })
    let end: PromptEnd | null = null
    let error: unknown = null
    try {
      end = await sendPrompt(recording, recorder, prompt)
    } catch (thrown) {
      error = thrown
    }
    // Updates directly after the end belong to the turn.
    if (end) await watch.silence()
    const sent = promptIn(keeper.state)
    const cost = costOfTurn(keeper.state)
    move({ type: 'ended' })
    turn = null
    if (end && cost !== null) end = { ...end, usage: { cost, ...end.usage } }
    const status = end ? statusOfEnd(end) : statusOf(error, signal)
    const usage = end?.usage ? { usage: end.usage } : {}
    const report = await recorder.end({ status, stop: end?.stop ?? null, ...usage })
    // An agent that answered has the whole turn, also one that it refused or that was cancelled. One that
    // died may have lost anything. One that refused before its first update may not have the question, nor
    // the session.
    const session = sessionIn(keeper.state)
    if (end === null && !(error instanceof RpcError && sent?.isHeard)) {
      if (sent) move({ type: 'drop' })
    } else if (!untold) keeper.rememberTurn(report)
    else if (session) commands.ranUntold(session.sessionId, untold.before, report.head)
    // The caller may exit once this resolves.
    await keeper.linksWritten()
    return { report, end, error }
  }

  async function promptUnstored({
    words,
    signal,
    send,
  }: Parameters<Seat['promptUnstored']>[0]): Promise<Omit<SeatPromptResult, 'report'>> {
    const agent = await unlessAborted(options.start(), signal)
    const session = sessionIn(keeper.state)
    if (!session) throw new UnavailableError('the store cannot be reached, and the agent has no session')
    const heard: Heard[] = []
    const nothing = () => {}
    move({ type: 'prompt', head: null, injected: null })
    turn = { hear: one => heard.push(one), settle: nothing, trace: nothing }
    let end: PromptEnd | null = null
    let error: unknown = null
    try {
      end = await send(agent, session.sessionId, null, null)
    } catch (thrown) {
      error = thrown
    }
    if (end) await watch.silence()
    move({ type: 'ended' })
    turn = null
    const status = end ? statusOfEnd(end) : statusOf(error, signal)
    const usage = end?.usage ? { usage: end.usage } : {}
    unstored.add({ words, heard, ending: { status, stop: end?.stop ?? null, ...usage } })
    return { end, error }
  }

  /** Stores a turn that was kept in memory. The agent knows it. */
  async function storeTurn({ words, heard, ending }: UnstoredTurn): Promise<void> {
    const { agent: model } = options
    const opening = { words, onBusy: 'wait', model } as const
    const recording = await beginTurn(store, await options.branch(), opening, source)
    const recorder = recordTurn(recording, { source })
    for (const one of heard) recorder.hear(one)
    keeper.rememberTurn(await recorder.end(ending))
  }

  async function sendPrompt(
    recording: TurnRecording,
    recorder: TurnRecorder,
    prompt: SeatPrompt,
  ): Promise<PromptEnd> {
    const { head } = recording
    const { signal } = prompt
    const before = prompt.follows === undefined ? await parentOf(head) : prompt.follows
    for (let attempt = 1; ; attempt++) {
      const { session, plan } = await unlessAborted(planPrompt(recording, before, prompt), signal)
      const agent = await unlessAborted(options.start(), signal)
      signal?.throwIfAborted()
      // The process may have ended since. The next one does not know this session.
      const isOpen = sessionIn(keeper.state)?.sessionId === session.sessionId
      if (!isOpen && attempt < mostAttempts) continue
      const isSystemDue = commands.needsSystem(session.sessionId, isNewSession(keeper.state), prompt.words)
      const system = isSystemDue ? (prompt.system ?? null) : null
      const injected = [system, plan.text].filter(text => text !== null)
      move({ type: 'prompt', head, injected: injected.length === 0 ? null : injected.join('\n\n') })
      turn = recorder
      prompted = agent
      try {
        return await prompt.send(agent, session.sessionId, plan.text, system)
      } catch (error) {
        // An agent that died before its first update has done nothing yet: the next process gets the prompt.
        // But it may have stored the question, so its session is not used again: the question would be in it
        // twice.
        const hasDoneNothing = error instanceof ConnectionEnded && !promptIn(keeper.state)?.isHeard
        if (!hasDoneNothing || signal?.aborted || attempt >= mostAttempts) throw error
        await keeper.forget()
      }
    }
  }

  /** How the agent gets its memory for this prompt: traced, and reported to the caller. */
  async function planPrompt(
    recording: TurnRecording,
    before: MessageId | null,
    { words, history, onMemory, signal }: SeatPrompt,
  ): Promise<SessionPlan> {
    signal?.throwIfAborted()
    untold = null
    const { state } = keeper
    // Nothing of this turn is stored yet, so the store does not know what the agent lacks. The agent has got
    // everything since its first prompt in this session, the turns that still wait to be stored included.
    if (recording.head === null && state.phase === 'seated' && state.isPrompted)
      return { session: state.session, plan: planNothing(state.session) }
    const upTo = commands.untoldUpTo(sessionIn(state)?.sessionId, before)
    const planned = await planFor(upTo, history !== undefined).catch((error: unknown) => {
      // A living agent is prompted, whatever the store may have that it lacks.
      if (keeper.state.phase !== 'seated' || !(error instanceof UnavailableError)) throw error
      return { session: keeper.state.session, plan: planNothing(keeper.state.session) }
    })
    signal?.throwIfAborted()
    const isNew = keeper.state.phase === 'seated' && !keeper.state.isPrompted
    const needsNothing = !isNew && planned.plan.text === null
    const { session, plan } = history && !needsNothing ? withGivenHistory(planned, history, telling) : planned
    if (plan.text !== null && commands.isRunBy(words)) {
      untold = { before }
      return { session, plan: planNothing(session) }
    }
    if (!needsNothing) {
      await recording.trace([{ type: 'resume', data: memoryTrace(options.agent, session, plan, before) }])
      onMemory?.(plan.report)
    }
    return { session, plan }
  }

  async function parentOf(id: MessageId | null): Promise<MessageId | null> {
    return id === null ? null : (await store.getMessages([id], { blobs: 'preview' }))[0]!.parentId
  }

  /** Stores late updates after the turn that they belong to. They are taken out of the buffer only when the
   *  turn is open again, so that nothing is lost if that fails. */
  async function storeLate(): Promise<void> {
    await unstored.storeAll()
    if (late.isEmpty) return
    try {
      const branch = await options.branch()
      const recording = await beginTurn(store, branch, { words: [], onBusy: 'wait' }, source)
      const recorder = recordTurn(recording, { source })
      for (const heard of late.take()) recorder.hear(heard)
      // An interrupted turn stays interrupted.
      const status = recording.reopened ? 'interrupted' : 'complete'
      const report = await recorder.end({ status, stop: null })
      if (sessionIn(keeper.state)?.seen) keeper.rememberTurn(report)
    } catch (error) {
      options.onLateFailure?.(error)
      throw error
    }
  }

  function hearInTurn(heard: Heard): void {
    const { state } = keeper
    move({ type: 'heard' })
    // The first update proves that the agent has the prompt.
    const isProof = state.phase === 'prompting' && !state.isHeard && !untold
    if (isProof && state.head !== null) keeper.remember(state.head)
    turn?.hear(heard)
  }

  /** Lets an agent that has the whole conversation summarize it for the next one. */
  async function summarizeByAgent(): Promise<void> {
    const { state } = keeper
    if (!prompted || state.phase !== 'seated' || !state.isPrompted) return
    const head = await headNow()
    const { sessionId, seen } = state.session
    if (head !== null && seen === head) await handOver.summarize(prompted, sessionId, head)
  }

  async function headNow(): Promise<MessageId | null> {
    return (await store.getBranch(await options.branch())).head
  }

  return {
    get sessionId() {
      return sessionIn(keeper.state)?.sessionId ?? null
    },
    get seen() {
      return sessionIn(keeper.state)?.seen ?? null
    },
    get wasResumed() {
      const { state } = keeper
      return (state.phase === 'seated' || state.phase === 'prompting') && state.isResumed
    },
    get isFirstMessage() {
      const { state } = keeper
      return state.phase === 'seated' ? !state.isPrompted : state.phase !== 'prompting'
    },
    get unstored() {
      return unstored.count
    },
    get isSitting() {
      return keeper.state.phase === 'sitting'
    },
    sit: () => oneAtATime(async () => (await keeper.sessionFor(await headNow())).answer),
    async open() {
      await keeper.sessionFor(await headNow())
    },
    begun(sessionId, seen = null) {
      move({ type: 'begun', session: begunSession(sessionId, seen, source) })
    },
    memory: () => oneAtATime(async () => (await planFor(await headNow())).plan.report),
    prompt: one => oneAtATime(() => prompt(one)),
    promptUnstored: one => oneAtATime(() => promptUnstored(one)),
    hear(heard) {
      if (heard.type === 'commands') commands.announced(heard.names)
      if (heard.type === 'usage' && heard.cost !== null) move({ type: 'cost', soFar: heard.cost })
      if (isHistoryUpdate(heard)) watch.heard()
      if (handOver.takes(heard)) return 'hide'
      const { to, show } = routeUpdate(keeper.state, heard)
      if (to === 'turn') hearInTurn(heard)
      else if (to === 'late') {
        if (unstored.count === 0) late.add(heard)
        else unstored.addLate(heard)
      } else if (to === 'replay') replayIn(keeper.state)?.hear(heard)
      return show
    },
    asked: call => turn?.settle(call),
    trace: event => turn?.trace(event),
    vacate: () => move({ type: 'vacate' }),
    async idle() {
      await oneAtATime(storeLate)
      await keeper.linksWritten()
    },
    async close() {
      // A running prompt may never end.
      if (options.summaries && keeper.state.phase === 'seated')
        await oneAtATime(summarizeByAgent).catch(() => undefined)
      await handOver.removeTranscript()
    },
    discard: () => handOver.removeTranscript(),
  }
}

function statusOfEnd({ stop }: PromptEnd): 'interrupted' | 'complete' {
  return stop === 'cancelled' ? 'interrupted' : 'complete'
}

/** The status of a turn that the agent did not end: cancelled by us, interrupted by its death, or refused. */
function statusOf(error: unknown, signal: AbortSignal | undefined): 'interrupted' | 'failed' {
  return signal?.aborted || error instanceof ConnectionEnded ? 'interrupted' : 'failed'
}

/** Whether the agent has not been prompted yet in a session that is neither resumed nor loaded. */
function isNewSession(state: SeatState): boolean {
  return state.phase === 'seated' && !state.isPrompted && !state.isResumed
}
