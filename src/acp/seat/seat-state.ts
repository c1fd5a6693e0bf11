import type { MessageId } from '../../core/ids.ts'
import { type Heard, isHistoryUpdate } from '../transcript/heard.ts'
import { isInjected } from './injected-history.ts'
import type { ReplayWindow } from './replay-window.ts'
import type { SeatSession } from './take-seat.ts'

/** The state of a seat.
 *
 *      vacant ───sit──▶ sitting ───sat──▶ seated ───prompt──▶ prompting
 *        ▲                 │              │    ▲                 │  │
 *        │◀───sit_failed───┘              │    └──────ended──────┘  │
 *        │◀──────────vacate, drop─────────┘                         │ vacate
 *        │                                                          ▼
 *        └──────────────────────────ended────────────────────── orphaned
 *
 *  - vacant: the agent has no session for this seat.
 *  - sitting: a session is being resumed, loaded or begun.
 *  - seated: the agent has a session, and no prompt is running in it.
 *  - prompting: a prompt is running.
 *  - orphaned: the process ended during a prompt; its turn is still open.
 *
 *  `begun` leads to seated from anywhere: a client's own request has opened a session. */
export type SeatState = SessionFacts &
  (
    | { readonly phase: 'vacant' }
    | { readonly phase: 'sitting'; readonly replay: ReplayWindow | null }
    | (OpenSession & { readonly phase: 'seated'; readonly isPrompted: boolean })
    | (OpenSession & RunningPrompt & { readonly phase: 'prompting' })
    | (Pick<RunningPrompt, 'isHeard'> & { readonly phase: 'orphaned' })
  )

/** Facts about the session that outlive it until the next one. */
interface SessionFacts {
  /** Text that was injected into prompts of the session: the agent may repeat it as text of the user. */
  readonly injectedText: string
  readonly cost: SessionCost
}

interface OpenSession {
  readonly session: SeatSession
  /** True if the session was resumed or loaded; false if it is new. */
  readonly isResumed: boolean
}

interface RunningPrompt {
  /** The last message of the prompt. */
  readonly head: MessageId | null
  /** True if the agent has sent an update since: then it has the prompt. */
  readonly isHeard: boolean
}

/** What a session has cost, in dollars: when the current turn began, and now. Null if unknown: an agent
 *  reports the cost of a resumed session with its first usage update. */
interface SessionCost {
  readonly before: number | null
  readonly now: number | null
}

export type SeatEvent =
  | { readonly type: 'sit' }
  /** A request that opens a session is about to be sent. */
  | { readonly type: 'listen'; readonly replay: ReplayWindow }
  | { readonly type: 'sat'; readonly session: SeatSession }
  | { readonly type: 'sit_failed' }
  | { readonly type: 'begun'; readonly session: SeatSession }
  | { readonly type: 'prompt'; readonly head: MessageId | null; readonly injected: string | null }
  /** The agent has sent an update that belongs to the running prompt. */
  | { readonly type: 'heard' }
  /** The agent has reported the cost of the session so far. */
  | { readonly type: 'cost'; readonly soFar: number }
  /** The running prompt has ended, in whatever way. */
  | { readonly type: 'ended' }
  /** The agent has all messages up to this one. */
  | { readonly type: 'seen'; readonly head: MessageId | null }
  /** The session must not be used again. */
  | { readonly type: 'drop' }
  /** The process has ended, and its sessions with it. */
  | { readonly type: 'vacate' }

export const vacantSeat: SeatState = { phase: 'vacant', injectedText: '', cost: { before: 0, now: 0 } }

/** The state after an event. An event that has no meaning in a state leaves it as it is. */
export function nextState(state: SeatState, event: SeatEvent): SeatState {
  const { injectedText, cost } = state
  const facts: SessionFacts = { injectedText, cost }
  const session = sessionIn(state)
  switch (event.type) {
    case 'sit':
      return session ? state : { ...facts, phase: 'sitting', replay: null }
    case 'listen':
      return state.phase === 'sitting' ? { ...state, replay: event.replay } : state
    case 'sat':
      return seated(event.session, event.session.way !== 'new')
    case 'sit_failed':
      return state.phase === 'sitting' ? { ...facts, phase: 'vacant' } : state
    case 'begun':
      return { ...seated(event.session, event.session.seen !== null), isResumed: false }
    case 'prompt':
      return prompting(state, event)
    case 'heard':
      return state.phase === 'prompting' || state.phase === 'orphaned' ? { ...state, isHeard: true } : state
    case 'cost':
      return { ...state, cost: { before: cost.before ?? event.soFar, now: event.soFar } }
    case 'ended':
      if (state.phase === 'prompting')
        return {
          ...facts,
          phase: 'seated',
          session: state.session,
          isResumed: state.isResumed,
          isPrompted: true,
        }
      return state.phase === 'orphaned' ? { ...facts, phase: 'vacant' } : state
    case 'seen':
      if (state.phase !== 'seated' && state.phase !== 'prompting') return state
      return { ...state, session: { ...state.session, way: 'resume', seen: event.head } }
    case 'drop':
      return state.phase === 'sitting' ? state : { ...facts, phase: 'vacant' }
    case 'vacate':
      if (state.phase === 'prompting') return { ...facts, phase: 'orphaned', isHeard: state.isHeard }
      if (state.phase === 'sitting') return { ...state, replay: null }
      return state.phase === 'seated' ? { ...facts, phase: 'vacant' } : state
    default:
      return event satisfies never
  }
}

/** A session whose cost is unknown has one from an earlier time. */
function seated(session: SeatSession, hasPast: boolean): Extract<SeatState, { phase: 'seated' }> {
  const cost = hasPast ? null : 0
  return {
    phase: 'seated',
    session,
    isResumed: hasPast,
    isPrompted: false,
    injectedText: '',
    cost: { before: cost, now: cost },
  }
}

function prompting(state: SeatState, { head, injected }: Extract<SeatEvent, { type: 'prompt' }>): SeatState {
  const facts: SessionFacts = {
    injectedText: `${state.injectedText}${injected ?? ''}`,
    cost: { before: state.cost.now, now: state.cost.now },
  }
  if (state.phase === 'seated' || state.phase === 'prompting') {
    const { session, isResumed } = state
    return { ...facts, phase: 'prompting', session, isResumed, head, isHeard: false }
  }
  // The process ended just before: the prompt fails, and its turn with it.
  return { ...facts, phase: 'orphaned', isHeard: false }
}

/** The prompt that is running; null if there is none. */
export function promptIn(state: SeatState): Pick<RunningPrompt, 'isHeard'> | null {
  return state.phase === 'prompting' || state.phase === 'orphaned' ? state : null
}

/** The replay window of the session that is open or being opened. */
export function replayIn(state: SeatState): ReplayWindow | null {
  return state.phase === 'sitting' ? state.replay : (sessionIn(state)?.replay ?? null)
}

/** The agent's session; null if it has none. */
export function sessionIn(state: SeatState): SeatSession | null {
  return state.phase === 'seated' || state.phase === 'prompting' ? state.session : null
}

/** What the current turn has cost; null if the agent has not reported it. */
export function costOfTurn({ cost: { before, now } }: SeatState): number | null {
  return before === null || now === null || now <= before ? null : now - before
}

/** Where an update belongs, and whether a client should see it. */
export interface UpdateRoute {
  readonly to: 'turn' | 'late' | 'replay' | 'nowhere'
  readonly show: 'show' | 'hide'
}

export function routeUpdate(state: SeatState, heard: Heard): UpdateRoute {
  // The agent makes titles of injected text.
  if (heard.type === 'title') return { to: 'nowhere', show: state.injectedText === '' ? 'show' : 'hide' }
  // Between two turns it belongs to the earlier one.
  if (heard.type === 'aside') {
    const isBetween = state.phase === 'seated' && state.isPrompted
    return { to: promptIn(state) ? 'turn' : isBetween ? 'late' : 'nowhere', show: 'show' }
  }
  if (!isHistoryUpdate(heard)) return { to: 'nowhere', show: 'show' }
  switch (state.phase) {
    case 'vacant':
      return { to: 'nowhere', show: 'hide' }
    case 'sitting':
      return { to: 'replay', show: 'hide' }
    case 'seated':
      // Before the first prompt, an update can only be about the past.
      if (!state.isPrompted) return { to: state.session.replay.isOpen ? 'replay' : 'nowhere', show: 'hide' }
      return { to: heard.type === 'user' ? 'nowhere' : 'late', show: 'show' }
    case 'prompting':
    case 'orphaned':
      if (heard.type !== 'user') return { to: 'turn', show: 'show' }
      return { to: 'nowhere', show: isInjected(heard, state.injectedText) ? 'hide' : 'show' }
    default:
      return state satisfies never
  }
}
