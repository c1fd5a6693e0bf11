import type { BranchRef } from '../../core/branch.ts'
import type { NewEvent } from '../../core/event.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { beginTurn } from '../../recorder/begin-turn.ts'
import type { TurnRecording, TurnReport } from '../../recorder/recording.ts'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import type { MemoryReport } from '../memory/outcome.ts'
import { defaultTelling, type TellingLimits } from '../memory/telling.ts'
import { nothingToTell, type ToTell, whatToTell } from '../memory/what-to-tell.ts'
import { recordTurn, type TurnRecord } from '../record/record-turn.ts'
import { type Heard, isHistory } from '../transcript/heard.ts'
import { ConnectionEnded } from '../wire/connection-ended.ts'
import { RpcError } from '../wire/rpc-error.ts'
import { withGiven } from './given-history.ts'
import { isTold } from './is-told.ts'
import { createLateWords } from './late-words.ts'
import { memoryTrace } from './memory-trace.ts'
import type { PromptEnd, Prompted, Prompting } from './prompting.ts'
import { quietAfter } from './quiet.ts'
import { openReplay, type ReplayWindow } from './replay-window.ts'
import type { SeatAgent, SeatStore } from './seat-agent.ts'
import { createSpending } from './spending.ts'
import { type Seated, takeSeat } from './take-seat.ts'
import { unlessAborted } from './unless-aborted.ts'

export interface SeatOptions {
  readonly store: SeatStore
  /** What the agent's links are kept under. */
  readonly agent: string
  readonly directory: string
  /** As in `session/new`: cwd, mcpServers and whatever else the client gave. */
  readonly params: JsonObject
  readonly limits?: TellingLimits
  readonly source?: RecorderSource
  /** The branch; made, where there is none yet, when something is said. */
  branch(): Promise<BranchRef>
  /** The running agent, started if there is none. */
  start(): Promise<SeatAgent>
  /** The agent's own id for this seat is known, or another one now. */
  onSession?(sessionId: string): void
}

/** One branch, held by one session of one agent. It gives the agent its memory, keeps what is said, and knows
 *  which of the agent's words are news. Used by the host and by the proxy. */
export interface Seat {
  /** The agent's own id for it; null while no agent sits here. */
  readonly sessionId: string | null
  /** The last message that the agent is known to have. */
  readonly seen: MessageId | null
  /** True if the agent's own session was taken up again, and not a new one begun (S4-25). */
  readonly wasResumed: boolean
  /** True until the agent has been prompted in this session (S4-20). */
  readonly isFirstMessage: boolean
  /** Whether the agent is being asked to sit down: its id for this seat may not be known yet. */
  readonly isSitting: boolean
  /** Seats the agent, if it does not sit yet, and returns what it answered. */
  sit(): Promise<JsonObject>
  /** The agent has this session by a client's own request, and knows this much. */
  begun(sessionId: string, seen?: MessageId | null): void
  /** What the agent's memory is, as of now. */
  memory(): Promise<MemoryReport>
  /** Takes a prompt: keeps the words, seats the agent if it does not sit, tells it what it lacks, sends, and
   *  keeps what comes. One at a time, in the order they came. Rejects only if the words could not be
   *  taken. */
  prompt(prompting: Prompting): Promise<Prompted>
  /** An update of the agent's. `show` if it is news for a client. */
  hear(heard: Heard): 'show' | 'hide'
  /** A permission is asked for: the calls that were announced are kept before anybody decides. */
  asked(): void
  /** Adds to the trace of the turn that is going on. */
  trace(event: NewEvent): void
  /** The agent's process has ended: whoever sits here next is told. */
  vacate(): void
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

/** How often a prompt is sent to an agent that dies before it says a word. */
const mostAttempts = 2

export function createSeat(options: SeatOptions): Seat {
  const { store, source = systemRecorderSource, limits = defaultTelling } = options
  let seated: Seated | null = null
  let replay: ReplayWindow | null = null
  let sitting: Promise<Seated> | null = null
  let prompted = false
  let resumed = false
  /** Text that the agent was told in a prompt of this session: it must not be shown as anybody's words. */
  let told = ''
  let turn: TurnRecord | null = null
  /** The end of what the agent is being asked, and whether it has said anything since: then it has the
   *  prompt. */
  let asked: { readonly head: MessageId | null; isHeard: boolean } | null = null
  const late = createLateWords(source, () => void inLane(keepLate).catch(() => undefined))
  let lane: Promise<unknown> = Promise.resolve()
  let links: Promise<unknown> = Promise.resolve()
  const quiet = quietAfter(source)
  let spending = createSpending(0)

  function inLane<T>(work: () => Promise<T>): Promise<T> {
    const mine = lane.then(work)
    lane = mine.catch(() => undefined)
    return mine
  }

  async function seatAt(head: MessageId | null, bringsHistory = false): Promise<Seated> {
    if (seated) return seated
    sitting ??= takeSeat({
      store,
      branch: await options.branch(),
      head,
      name: options.agent,
      directory: options.directory,
      params: options.params,
      limits,
      source,
      bringsHistory,
      agent: options.start,
      listen(sessionId, window) {
        replay = window
        if (sessionId !== null) options.onSession?.(sessionId)
      },
    }).finally(() => {
      sitting = null
    })
    const taken = await sitting
    seated = taken
    prompted = false
    resumed = taken.way !== 'new'
    spending = createSpending(resumed ? null : 0)
    told = ''
    return taken
  }

  /** What the agent has to be told, by a session that may be used for it. */
  async function toTell(
    head: MessageId | null,
    bringsHistory = false,
  ): Promise<{ taken: Seated; tell: ToTell }> {
    const taken = await seatAt(head, bringsHistory)
    const tell = await whatToTell(store, taken, head, limits)
    if (tell) return { taken, tell }
    // It has seen what is not on this path any more.
    seated = null
    await forget()
    const again = await seatAt(head, bringsHistory)
    return { taken: again, tell: (await whatToTell(store, again, head, limits))! }
  }

  async function forget(): Promise<void> {
    await store.removeAgentLink(await options.branch(), options.agent, options.directory)
  }

  /** Says in the store what the agent has. It never holds up a turn, and a store that is away is no reason to
   *  fail. */
  function remember(seen: MessageId | null): void {
    const current = seated
    if (!current) return
    seated = { ...current, way: 'resume', seen }
    const link = { agent: options.agent, directory: options.directory, foreignId: current.sessionId, seen }
    links = links.then(async () => store.setAgentLink(await options.branch(), link)).catch(() => undefined)
  }

  /** The agent has a turn that may still wait to be stored: the link names its end as soon as there is
   *  one. */
  function rememberWhenStored(report: TurnReport): void {
    if (!report.whenSaved) remember(report.head)
    const session = seated?.sessionId
    void report.whenSaved?.then(({ saved, head }) => {
      if (saved && seated && seated.sessionId === session) remember(head)
    })
  }

  async function prompt(prompting: Prompting): Promise<Prompted> {
    await keepLate()
    const { words, onBusy = 'wait', key, signal, onTrouble } = prompting
    const branch = await options.branch()
    const recording = await beginTurn(
      store,
      branch,
      {
        words,
        onBusy,
        model: options.agent,
        ...(key === undefined ? {} : { key }),
        ...(signal ? { signal } : {}),
        ...(onTrouble ? { onTrouble } : {}),
      },
      source,
    )
    prompting.onBegun?.(recording)
    const { onEffect } = prompting
    const record = recordTurn(recording, { source, ...(onEffect ? { onEffect } : {}) })
    let end: PromptEnd | null = null
    let error: unknown = null
    try {
      end = await promptIn(recording, record, prompting)
    } catch (thrown) {
      error = thrown
    }
    // What comes right behind the end belongs to it.
    if (end) await quiet.silence()
    turn = null
    const cost = spending.spent()
    if (end && cost !== null) end = { ...end, usage: { cost, ...end.usage } }
    const status = end ? (end.stop === 'cancelled' ? 'interrupted' : 'complete') : statusOf(error, signal)
    const report = await record.end({
      status,
      stop: end?.stop ?? null,
      ...(end?.usage ? { usage: end.usage } : {}),
    })
    // An agent that answered has all of it, also what it refused or was stopped in. One that died may have
    // lost anything; and of one that refused before it said a word nobody knows whether it has the question,
    // or the session at all.
    const hasIt = end !== null || (error instanceof RpcError && asked?.isHeard === true)
    if (hasIt) rememberWhenStored(report)
    else if (asked) seated = null
    asked = null
    // Whoever is told that the turn is over may end everything.
    await links
    return { report, end, error }
  }

  async function promptIn(
    recording: TurnRecording,
    record: TurnRecord,
    prompting: Prompting,
  ): Promise<PromptEnd> {
    const { head } = recording
    const before = prompting.follows === undefined ? await parentOf(head) : prompting.follows
    for (let attempt = 1; ; attempt++) {
      const { taken, tell } = await unlessAborted(planned(recording, before, prompting), prompting.signal)
      const agent = await unlessAborted(options.start(), prompting.signal)
      // It may have died since it sat down: then another one is there now, which knows nothing of this
      // session.
      const isThere = seated?.sessionId === taken.sessionId
      prompting.signal?.throwIfAborted()
      if (!isThere && attempt < mostAttempts) continue
      if (tell.text !== null) told += tell.text
      prompted = true
      spending.begin()
      turn = record
      asked = { head, isHeard: false }
      try {
        return await prompting.send(agent, taken.sessionId, tell.text)
      } catch (error) {
        // One that had died before it said a word has done nothing yet: the next one is asked. But it may
        // have kept the question, so that its session is not taken up again: the question would stand there
        // twice.
        const hasDoneNothing = error instanceof ConnectionEnded && !asked.isHeard
        if (!hasDoneNothing || prompting.signal?.aborted || attempt >= mostAttempts) throw error
        seated = null
        await forget()
      }
    }
  }

  /** What the agent is told before this prompt: said to whoever asks, and kept. */
  async function planned(
    recording: TurnRecording,
    before: MessageId | null,
    { history, onMemory, signal }: Prompting,
  ): Promise<{ taken: Seated; tell: ToTell }> {
    signal?.throwIfAborted()
    // Nothing of this turn is stored yet, so the store cannot say what the agent lacks. It has been prompted
    // in this session and has heard everything since, the turns that still wait included.
    if (recording.head === null && seated && prompted) return { taken: seated, tell: nothingToTell(seated) }
    const plan = await toTell(before, history !== undefined)
    signal?.throwIfAborted()
    const needsNothing = prompted && plan.tell.text === null
    const { taken, tell } = history && !needsNothing ? withGiven(plan, history, limits) : plan
    if (!needsNothing) {
      await recording.trace([{ type: 'resume', data: memoryTrace(options.agent, taken, tell, before) }])
      onMemory?.(tell.report)
    }
    return { taken, tell }
  }

  async function parentOf(id: MessageId | null): Promise<MessageId | null> {
    return id === null ? null : (await store.getMessages([id], { blobs: 'preview' }))[0]!.parentId
  }

  /** Words that came after their turn had ended are kept behind it. */
  async function keepLate(): Promise<void> {
    const heard = late.take()
    if (heard.length === 0) return
    const branch = await options.branch()
    const recording = await beginTurn(store, branch, { words: [], onBusy: 'wait' }, source)
    const record = recordTurn(recording, { source })
    for (const one of heard) record.hear(one)
    // A turn that was stopped stays a stopped one, whatever is still said in it.
    const report = await record.end({ status: recording.reopened ? 'interrupted' : 'complete', stop: null })
    if (seated?.seen) remember(report.head)
  }

  function hearPast(heard: Heard): 'show' | 'hide' {
    if (replay?.isOpen || seated === null) {
      replay?.hear(heard)
      return 'hide'
    }
    // Nobody has spoken yet, so that it can only be about what was.
    if (!prompted) return 'hide'
    if (heard.type !== 'user') late.hear(heard)
    return 'show'
  }

  return {
    get sessionId() {
      return seated?.sessionId ?? null
    },
    get seen() {
      return seated?.seen ?? null
    },
    get wasResumed() {
      return seated !== null && resumed
    },
    get isFirstMessage() {
      return seated === null || !prompted
    },
    get isSitting() {
      return sitting !== null
    },
    sit: () =>
      inLane(async () => {
        const { head } = await store.getBranch(await options.branch())
        return (await seatAt(head)).answer
      }),
    begun(sessionId, seen = null) {
      replay = openReplay(source)
      replay.answered()
      seated = {
        sessionId,
        answer: {},
        way: seen === null ? 'new' : 'resume',
        failed: [],
        replay,
        seen,
        inSystem: null,
      }
      prompted = false
      resumed = false
      spending = createSpending(seen === null ? 0 : null)
      told = ''
    },
    memory: () =>
      inLane(async () => {
        const { head } = await store.getBranch(await options.branch())
        return (await toTell(head)).tell.report
      }),
    prompt: prompting => inLane(() => prompt(prompting)),
    hear(heard) {
      if (heard.type === 'title') return told === '' ? 'show' : 'hide'
      if (heard.type === 'usage' && heard.cost !== null) spending.hear(heard.cost)
      if (!isHistory(heard)) return 'show'
      if (!turn) return hearPast(heard)
      quiet.heard()
      if (heard.type === 'user') return isTold(heard, told) ? 'hide' : 'show'
      if (asked?.isHeard === false) {
        asked.isHeard = true
        if (asked.head !== null) remember(asked.head)
      }
      turn.hear(heard)
      return 'show'
    },
    asked: () => turn?.settle(),
    trace: event => turn?.trace(event),
    vacate() {
      seated = null
      replay = null
    },
    async idle() {
      await lane
      await keepLate()
      await links
    },
  }
}

/** A turn that the agent did not end: stopped by us or by its death, or refused. */
function statusOf(error: unknown, signal: AbortSignal | undefined): 'interrupted' | 'failed' {
  return signal?.aborted || error instanceof ConnectionEnded ? 'interrupted' : 'failed'
}
