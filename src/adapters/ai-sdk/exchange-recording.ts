import { callKind, callTitle } from '../../agent/approval/call-details.ts'
import type { ApprovalRequest } from '../../core/approval.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { NewEvent } from '../../core/event.ts'
import type { MessageId } from '../../core/ids.ts'
import { isNonEmpty, type NewMessage } from '../../core/message.ts'
import type { DraftPiece, TurnStatus, Usage } from '../../core/turn.ts'
import { plainJson } from '../../models/plain-json.ts'
import { approvalRequestEvent } from '../../recorder/approval-request.ts'
import type { TurnRecording, TurnReport } from '../../recorder/recording.ts'
import type { RecorderSource } from '../../system/source.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'
import type { ApprovalNeed, DecidedCall } from './watch-tools.ts'

/** How long an exchange waits for its next call before its turn ends. */
export interface ExchangeTimeouts {
  /** After all results of an answer's calls are stored, or if none of its tools has started: the caller has
   *  reached its limit of steps. Default: 1 s. */
  readonly answeredMs: number
  /** After an answer with calls of tools that are not wrapped, so that it is unknown whether they run.
   *  Default: 10 s. */
  readonly callsMs: number
  /** After a retryable failure: the AI SDK retries by calling the model again. Default: 10 s. */
  readonly retryMs: number
  /** How long a call waits for a turn of another process before it forks. Default: 2 s. */
  readonly busyMs: number
}

type EndStatus = Exclude<TurnStatus, 'open'>

/** One exchange being recorded: the calls of a model that belong to one turn, and the tools between them.
 *  Failing storage does not make these methods throw; `guard` gets the errors. */
export interface ExchangeRecording {
  readonly branch: BranchRef
  readonly head: MessageId | null
  /** The last prompt and its answer: the next call of this exchange begins with them. */
  readonly known: readonly Fingerprint[]
  /** `calling` while the model answers, `waiting` until the next call, `ended` after that. */
  readonly state: 'calling' | 'waiting' | 'ended'
  /** The status that the turn gets if no call follows. */
  readonly status: EndStatus
  /** The next call of the exchange: stores the new messages of its prompt. */
  nextCall(fresh: readonly NewMessage[], signal: AbortSignal | undefined): Promise<void>
  draft(piece: Omit<DraftPiece, 'n'>): void
  /** The answer to the call. */
  answer(answer: ExchangeAnswer): Promise<void>
  /** The call failed without an answer. A retryable one may come again. */
  failed(retryable: boolean): Promise<void>
  /** Decides whether a call needs an approval. The request is stored after the answer that contains the call,
   *  and the turn ends as interrupted when only such calls are left. */
  decide(call: DecidedCall, needs: () => Promise<ApprovalNeed>): Promise<void>
  /** `message` is the answer that contains the call, if it is known to be stored. */
  toolStarted(callId: string, name: string, message?: MessageId): Promise<void>
  /** Stores the result of a tool, after the answer that called it. Returns false if the exchange has
   *  ended. */
  toolEnded(callId: string, name: string, message: NewMessage): Promise<boolean>
  end(status?: EndStatus): Promise<TurnReport>
}

/** The answer of a model, whole or as far as it has arrived. */
export interface ExchangeAnswer {
  /** Null if the answer is empty. */
  readonly message: NewMessage | null
  /** Ids of the calls whose results are awaited. */
  readonly calls: readonly string[]
  /** Whether all of them are calls of wrapped tools. A wrapped tool that does not start at once waits for a
   *  person. */
  readonly allWrapped: boolean
  readonly usage?: Usage
  /** If given, the turn ends with this answer, also if there are calls. */
  readonly ends?: EndStatus
}

export interface ExchangeRecordingOptions {
  readonly signal: AbortSignal | undefined
  readonly timeouts: ExchangeTimeouts
  readonly source: RecorderSource
  /** Runs a write and handles its error. */
  readonly guard: (write: () => Promise<unknown>) => Promise<void>
  readonly ended: (report: TurnReport) => Promise<void>
  /** For a recording that begins between two calls: ids of the calls whose results are awaited. */
  readonly awaits?: readonly string[]
}

/** Begins to record an exchange, on a turn that has just begun. */
export function recordExchange(
  turn: TurnRecording,
  given: readonly Fingerprint[],
  options: ExchangeRecordingOptions,
): ExchangeRecording {
  const { timeouts, source, guard } = options
  let known = [...given]
  let state: ExchangeRecording['state'] = options.awaits === undefined ? 'calling' : 'waiting'
  let status: EndStatus = 'complete'
  let signal = options.signal
  let report: Promise<TurnReport> | null = null
  let cancelTimer: (() => void) | null = null
  let allWrapped = true
  const awaited = new Set(options.awaits)
  const running = new Set<string>()
  /** Calls that wait for an approval, and whose request is not stored yet. */
  const waiting = new Map<string, ApprovalRequest>()
  const unasked = new Set<string>()
  let answerId: MessageId | null = null
  /** Results that came before the answer that called their tools was stored. */
  const early: NewMessage[] = []
  if (state === 'waiting') void wait()

  return {
    get branch() {
      return turn.branch
    },
    get head() {
      return turn.head
    },
    get known() {
      return known
    },
    get state() {
      return state
    },
    get status() {
      return status
    },
    nextCall,
    draft: piece => turn.draft(piece),
    answer,
    failed,
    decide,
    toolStarted,
    toolEnded,
    end,
  }

  async function nextCall(fresh: readonly NewMessage[], next: AbortSignal | undefined): Promise<void> {
    cancelTimer?.()
    state = 'calling'
    status = 'complete'
    signal = next
    await add(fresh)
  }

  async function add(messages: readonly NewMessage[], usage?: Usage): Promise<MessageId | null> {
    if (!isNonEmpty(messages)) return null
    known = [...known, ...messages.map(fingerprintOf)]
    for (const callId of messages.flatMap(resultsIn)) {
      awaited.delete(callId)
      waiting.delete(callId)
    }
    let first: MessageId | null = null
    await guard(async () => {
      first = (await turn.add(messages, usage && { usage })).ids?.[0] ?? null
    })
    return first
  }

  async function answer(given: ExchangeAnswer): Promise<void> {
    const { message, calls, usage, ends } = given
    for (const callId of calls) awaited.add(callId)
    allWrapped = given.allWrapped
    if (message !== null) answerId = await add([message], usage)
    state = 'waiting'
    await add(early.splice(0))
    await storeRequests()
    if (ends !== undefined || calls.length === 0)
      await end(ends ?? 'complete', message === null ? usage : undefined)
    else await wait()
  }

  async function failed(retryable: boolean): Promise<void> {
    if (!retryable) return void (await end('failed'))
    status = 'failed'
    state = 'waiting'
    waitFor(timeouts.retryMs)
  }

  async function decide(call: DecidedCall, needs: () => Promise<ApprovalNeed>): Promise<void> {
    const { callId } = call
    if (report !== null) return void (await needs())
    running.add(callId)
    cancelTimer?.()
    try {
      const { isNeeded, reason } = await needs()
      if (isNeeded) {
        waiting.set(callId, requestFor(call, reason))
        unasked.add(callId)
      }
    } finally {
      running.delete(callId)
      if (state === 'waiting') {
        await storeRequests()
        await wait()
      }
    }
  }

  function requestFor({ callId, name, input: given }: DecidedCall, reason: string | null): ApprovalRequest {
    const input = plainJson(given)
    const facts = { kind: callKind(name), title: callTitle(name, input), preview: null, reason, scope: name }
    const { conversationId } = turn.branch
    return { callId, name, input, ...facts, conversationId, messageId: null, turn: turn.key }
  }

  async function storeRequests(): Promise<void> {
    const events: NewEvent[] = []
    for (const callId of unasked) {
      const event = approvalRequestEvent({ ...waiting.get(callId)!, messageId: answerId }, turn.branch.name)
      if (event !== null) events.push(event)
    }
    unasked.clear()
    if (events.length > 0) await guard(() => turn.trace(events))
  }

  async function toolStarted(callId: string, name: string, message?: MessageId): Promise<void> {
    running.add(callId)
    cancelTimer?.()
    const call = message === undefined ? {} : { call: callId, message }
    const data = { callId, name, ...call }
    if (report === null) await guard(() => turn.trace([{ type: 'tool_started', data }]))
  }

  async function toolEnded(callId: string, name: string, message: NewMessage): Promise<boolean> {
    running.delete(callId)
    if (report !== null) return false
    if (state === 'calling') early.push(message)
    else await add([message])
    await guard(() => turn.trace([{ type: 'tool_ended', data: { callId, name } }]))
    if (state === 'waiting') await wait()
    return true
  }

  /** Waits for the next call, or ends the turn if the caller has aborted or only approvals are awaited. */
  async function wait(): Promise<void> {
    if (running.size > 0) return
    const areAllAsked = waiting.size > 0 && [...awaited].every(callId => waiting.has(callId))
    if (signal?.aborted || areAllAsked) await end('interrupted')
    else waitFor(awaited.size > 0 && !allWrapped ? timeouts.callsMs : timeouts.answeredMs)
  }

  function waitFor(ms: number): void {
    cancelTimer?.()
    const cancel = source.after(ms, () => void end(), { idle: true })
    const abort = () => void (running.size === 0 && end('interrupted'))
    const current = signal
    current?.addEventListener('abort', abort, { once: true })
    cancelTimer = () => {
      cancel()
      current?.removeEventListener('abort', abort)
    }
  }

  function end(
    as: EndStatus = state === 'calling' || waiting.size > 0 ? 'interrupted' : status,
    usage?: Usage,
  ): Promise<TurnReport> {
    cancelTimer?.()
    state = 'ended'
    status = as
    report ??= finish(as, usage)
    return report
  }

  async function finish(as: EndStatus, usage: Usage | undefined): Promise<TurnReport> {
    let ended: TurnReport = { status: as, branch: turn.branch, head: turn.head, saved: false, unsaved: [] }
    await guard(async () => {
      ended = await turn.end(as, usage && { usage })
    })
    await options.ended(ended)
    return ended
  }
}

function resultsIn({ content: blocks }: NewMessage): readonly string[] {
  if (typeof blocks === 'string') return []
  return blocks.flatMap(block => (block.type === 'tool_result' ? [String(block.callId)] : []))
}
