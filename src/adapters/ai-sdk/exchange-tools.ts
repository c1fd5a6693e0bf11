import { asBlocks } from '../../core/block.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { NewMessage } from '../../core/message.ts'
import { createSerialQueue } from '../../core/wait.ts'
import { beginTurn } from '../../recorder/begin-turn.ts'
import type { BeginTurn, TurnRecording } from '../../recorder/recording.ts'
import type { RecorderSource } from '../../system/source.ts'
import { allowedRequest, claimCall, isLostClaim, type RecordToStore } from './approved-calls.ts'
import { type ConversationState, putNewest } from './conversation-state.ts'
import type { ExchangeAnswer, ExchangeRecording } from './exchange-recording.ts'
import { findOpenCall } from './find-position.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'
import type { ToolFacts, ToolWatcher } from './watch-tools.ts'

/** A tool call of an answer. */
export interface ToolCallName {
  readonly callId: string
  readonly name: string
}

export type AwaitedCalls = Pick<ExchangeAnswer, 'calls' | 'allWrapped'>

/** The tools of one recorder. */
export interface ExchangeTools {
  readonly watcher: ToolWatcher
  /** Whether some tool may need approvals. */
  readonly canAsk: boolean
  /** Registers calls of an answer, and returns those that the exchange has to wait for. Calls of tools that
   *  are not executed here get their results from the caller, at any time. */
  expect(calls: readonly ToolCallName[], recording: ExchangeRecording, state: ConversationState): AwaitedCalls
  /** Refuses a prompt with the result of a call that another process runs: that process continues. */
  checkResults(messages: readonly NewMessage[]): void
  /** Resolves when the results so far are stored. */
  idle(): Promise<void>
}

/** How the tools of a recorder reach its exchanges. */
export interface ExchangeAccess {
  place(): Promise<BranchRef>
  state(): Promise<ConversationState>
  /** Options of a turn that begins between two calls. */
  begin(): Promise<Pick<BeginTurn, 'moveKey' | 'onTrouble'>>
  /** Records a turn that begins between two calls. */
  record(
    turn: TurnRecording,
    known: readonly Fingerprint[],
    state: ConversationState,
    awaits: readonly string[],
  ): ExchangeRecording
  guard(write: () => Promise<unknown>): Promise<void>
}

/** Most calls to remember. */
const mostCalls = 1_000

export function createExchangeTools(
  store: RecordToStore,
  source: RecorderSource,
  exchanges: ExchangeAccess,
): ExchangeTools {
  const wrapped = new Map<string, ToolFacts>()
  /** Calls that this process must not run, and why. */
  const lost = new Map<string, unknown>()
  /** Tools whose calls may need an approval by the option `toolApproval`. */
  const asking = new Set<string>()
  let anyAsks = false
  const oneByOne = createSerialQueue()

  return {
    watcher: {
      known: (name, facts) => void wrapped.set(name, facts),
      mayAsk(name) {
        if (name === undefined) anyAsks = true
        else asking.add(name)
      },
      asks: mayAsk,
      async decide(call, needs) {
        const recording = (await exchanges.state()).byCall.get(call.callId)
        if (recording) await recording.decide(call, needs)
        else await needs()
      },
      started,
      ended,
    },
    get canAsk() {
      return anyAsks || asking.size > 0 || [...wrapped.values()].some(({ asks }) => asks)
    },
    expect(calls, recording, { byCall }) {
      for (const { callId } of calls) putNewest(byCall, callId, recording, mostCalls)
      const awaited = calls.filter(({ name }) => wrapped.get(name)?.runs !== false)
      return {
        calls: awaited.map(({ callId }) => callId),
        allWrapped: awaited.every(({ name }) => wrapped.get(name)?.runs === true),
      }
    },
    checkResults(messages) {
      if (lost.size === 0) return
      for (const block of asBlocks(messages.at(-1)?.content ?? [])) {
        if (block.type !== 'tool_result' || !lost.has(String(block.callId))) continue
        const error = lost.get(String(block.callId))
        lost.delete(String(block.callId))
        throw error
      }
    },
    idle: () => oneByOne(async () => {}),
  }

  function mayAsk(name: string): boolean {
    return anyAsks || asking.has(name) || wrapped.get(name)?.asks === true
  }

  async function started(callId: string, name: string): Promise<void> {
    const state = await exchanges.state()
    const recording = state.byCall.get(callId)
    const isOpen = recording !== undefined && recording.state !== 'ended'
    if (isOpen || !mayAsk(name)) return recording?.toolStarted(callId, name)
    try {
      await oneByOne(() => startApproved(callId, name, state))
    } catch (error) {
      if (isLostClaim(error)) putNewest(lost, callId, error, mostCalls)
      throw error
    }
  }

  /** Starts a call that had to wait for an approval, perhaps in another process. Other calls of the same
   *  answer may be running. */
  async function startApproved(callId: string, name: string, state: ConversationState): Promise<void> {
    const { conversationId } = await exchanges.place()
    const request = await allowedRequest(store, conversationId, callId)
    if (request === null) return state.byCall.get(callId)?.toolStarted(callId, name)
    const running = state.byCall.get(callId)
    if (running && running.state !== 'ended') return running.toolStarted(callId, name, request.messageId)
    const { turn, call } = await claimCall(store, request, async (branch, { head }) =>
      beginTurn(store, branch, { words: [], expectedHead: head, ...(await exchanges.begin()) }, source),
    )
    const recording = follow(turn, call.known, state, [callId, ...call.others])
    await recording.toolStarted(callId, name, request.messageId)
  }

  async function ended(callId: string, name: string, message: NewMessage): Promise<void> {
    const state = await exchanges.state()
    if (await state.byCall.get(callId)?.toolEnded(callId, name, message)) return
    await oneByOne(() => exchanges.guard(() => storeLateResult(callId, name, message, state)))
  }

  /** Stores a result whose exchange has ended or was begun by another process. It continues that exchange, if
   *  no other message has followed. Otherwise the next call brings the result. */
  async function storeLateResult(
    callId: string,
    name: string,
    message: NewMessage,
    state: ConversationState,
  ): Promise<void> {
    if (await state.byCall.get(callId)?.toolEnded(callId, name, message)) return
    const branch = state.byCall.get(callId)?.branch ?? (await exchanges.place())
    const call = await findOpenCall(store, branch, callId)
    if (call === null) return
    const begin = { words: [message], expectedHead: call.head, ...(await exchanges.begin()) }
    const turn = await beginTurn(store, branch, begin, source)
    follow(turn, [...call.known, fingerprintOf(message)], state, call.others)
  }

  function follow(
    turn: TurnRecording,
    known: readonly Fingerprint[],
    state: ConversationState,
    awaits: readonly string[],
  ): ExchangeRecording {
    const recording = exchanges.record(turn, known, state, awaits)
    for (const callId of awaits) putNewest(state.byCall, callId, recording, mostCalls)
    return recording
  }
}
