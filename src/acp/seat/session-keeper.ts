import type { BranchRef } from '../../core/branch.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { createSerialQueue } from '../../core/wait.ts'
import type { TurnReport } from '../../recorder/recording.ts'
import type { RecorderSource } from '../../system/source.ts'
import { type MemoryPlan, planMemory } from '../memory/plan-memory.ts'
import type { HistoryTelling } from '../memory/tell-history.ts'
import { type AgentCapabilities, defaultAnswerMs, type RunningAgent } from '../process/agent-process-slot.ts'
import type { RecallCommand } from './recall-server.ts'
import { openReplay } from './replay-window.ts'
import type { SeatStore } from './seat-prompt.ts'
import { nextState, type SeatEvent, type SeatState, sessionIn, vacantSeat } from './seat-state.ts'
import { type SeatSession, takeSeat } from './take-seat.ts'

export interface SessionKeeperOptions {
  readonly store: SeatStore
  /** The name under which links to the agent's sessions are stored. */
  readonly agent: string
  readonly directory: string
  /** The parameters of `session/new`: cwd, mcpServers and whatever else the client gave. */
  readonly params: JsonObject | ((can: AgentCapabilities) => JsonObject)
  /** How a history is told. */
  readonly telling: HistoryTelling
  /** The command of `skein mcp`, for an agent that has to be told something. */
  readonly recall?: RecallCommand
  readonly source: RecorderSource
  /** The branch; created, if it does not exist yet, with the first message. */
  branch(): Promise<BranchRef>
  /** The running agent, started if there is no process. */
  start(): Promise<RunningAgent>
  /** How long the agent may be silent before it has opened a session. Default: 60,000. */
  readonly answerMs?: number
  /** The agent has been silent for that long: its process must be ended. */
  onSilence?(method: string): void
  /** The agent's session id for this seat is known, or has changed. */
  onSession?(sessionId: string): void
  /** A session that was opened ahead, for a branch without messages. */
  openedAhead?(): Promise<string | null>
  /** The agent has opened a session that is not used yet. An error means that it cannot be used. */
  onOpened?(session: SeatSession, agent: RunningAgent): Promise<void>
}

/** An open session, and how the agent gets its memory in it. */
export interface SessionPlan {
  readonly session: SeatSession
  readonly plan: MemoryPlan
}

/** Holds the state of a seat, opens and drops its session, and stores links to it. */
export interface SessionKeeper {
  readonly state: SeatState
  move(event: SeatEvent): void
  /** The session, opened if there is none. */
  sessionFor(head: MessageId | null): Promise<SeatSession>
  /** A session that may be used for a prompt after `head`, and how the agent gets its memory. With
   *  `bringsHistory`, no history is put into the system prompt of a new session. */
  planFor(head: MessageId | null, bringsHistory?: boolean): Promise<SessionPlan>
  /** Drops the session, and its link in the store. */
  forget(): Promise<void>
  /** Stores in the background which messages the agent has. A link that cannot be stored is not an error: the
   *  agent is then told more than it needs. */
  remember(head: MessageId | null): void
  /** The same for a turn, as soon as all of it is stored. */
  rememberTurn(report: TurnReport): void
  /** Resolves when all links are stored. */
  linksWritten(): Promise<void>
}

export function createSessionKeeper(options: SessionKeeperOptions): SessionKeeper {
  const { store, telling, source, agent: name, directory, answerMs = defaultAnswerMs } = options
  let state: SeatState = vacantSeat
  /** The opening of a session that is under way: an aborted prompt leaves it to the next one. */
  let sitting: Promise<SeatSession> | null = null
  const linkWrites = createSerialQueue()

  function move(event: SeatEvent): void {
    state = nextState(state, event)
  }

  async function sessionFor(head: MessageId | null, bringsHistory = false): Promise<SeatSession> {
    const session = sessionIn(state)
    if (session) return session
    sitting ??= openSession(head, bringsHistory).finally(() => {
      sitting = null
    })
    return sitting
  }

  async function openSession(head: MessageId | null, bringsHistory: boolean): Promise<SeatSession> {
    const branch = await options.branch()
    move({ type: 'sit' })
    try {
      const { start: agent } = options
      const ahead = head === null ? await options.openedAhead?.() : null
      if (ahead != null) {
        const session = begunSession(ahead, null, source)
        options.onSession?.(ahead)
        move({ type: 'sat', session })
        return session
      }
      const params =
        typeof options.params === 'function' ? options.params((await agent()).capabilities) : options.params
      const request = { store, branch, head, name, directory, params, telling, source, bringsHistory, agent }
      const session = await takeSeat({
        ...request,
        ...(options.recall && { recall: options.recall }),
        answerMs,
        onSilence: method => options.onSilence?.(method),
        listen(sessionId, replay) {
          move({ type: 'listen', replay })
          if (sessionId !== null) options.onSession?.(sessionId)
        },
      })
      await options.onOpened?.(session, await agent())
      move({ type: 'sat', session })
      if (session.way !== 'new')
        void rewriteTranscript(branch, session.sessionId, head).catch(() => undefined)
      return session
    } catch (error) {
      move({ type: 'sit_failed' })
      throw error
    }
  }

  /** An earlier prompt of the session may name a file with the conversation: it is written again. */
  async function rewriteTranscript(
    { conversationId }: BranchRef,
    sessionId: string,
    head: MessageId | null,
  ): Promise<void> {
    if (!telling.transcript || head === null) return
    const traces = await store.listEvents(conversationId, {
      types: ['resume'],
      order: 'descending',
      limit: 200,
    })
    const named = traces.items.some(
      ({ data }) => data.session === sessionId && typeof data.transcript === 'string',
    )
    if (named) await telling.transcript.write(head)
  }

  async function planFor(head: MessageId | null, bringsHistory = false): Promise<SessionPlan> {
    const session = await sessionFor(head, bringsHistory)
    const plan = await planMemory(store, session, head, telling)
    if (plan) return { session, plan }
    // The session has seen messages that are not on this path.
    await forget()
    const next = await sessionFor(head, bringsHistory)
    return { session: next, plan: (await planMemory(store, next, head, telling))! }
  }

  async function forget(): Promise<void> {
    move({ type: 'drop' })
    await store.removeAgentLink(await options.branch(), name, directory)
  }

  function remember(head: MessageId | null): void {
    const session = sessionIn(state)
    if (!session) return
    move({ type: 'seen', head })
    const link = { agent: name, directory, foreignId: session.sessionId, seen: head }
    linkWrites(async () => store.setAgentLink(await options.branch(), link)).catch(() => undefined)
  }

  function rememberTurn({ head, whenSaved }: TurnReport): void {
    if (!whenSaved) remember(head)
    const session = sessionIn(state)?.sessionId
    void whenSaved?.then(report => {
      if (report.saved && session !== undefined && sessionIn(state)?.sessionId === session)
        remember(report.head)
    })
  }

  return {
    get state() {
      return state
    },
    move,
    sessionFor,
    planFor,
    forget,
    remember,
    rememberTurn,
    linksWritten: () => linkWrites(async () => undefined),
  }
}

/** A session that a request outside of this file has opened. The agent has the messages up to `seen`. */
export function begunSession(sessionId: string, seen: MessageId | null, source: RecorderSource): SeatSession {
  const replay = openReplay(source)
  replay.answered()
  const way = seen === null ? 'new' : 'resume'
  return { sessionId, answer: {}, way, failed: [], replay, seen, inSystem: null }
}
