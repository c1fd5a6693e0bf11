import type { BranchRef } from '../core/branch.ts'
import type { MessageId } from '../core/ids.ts'
import { isNonEmpty, type NewMessage } from '../core/message.ts'
import type { DraftPiece, TurnStatus, Usage } from '../core/turn.ts'
import type { RecorderSource } from '../system/source.ts'
import { type Face, faceOf } from './align-face.ts'
import type { TurnRecording, TurnReport } from './recording.ts'

/** How long a line waits for its next call before its turn ends. */
export interface Patience {
  /** After all results of an answer's calls are stored, or none of its tools has started: the caller has had enough steps,
   *  or has to ask somebody. 1 s unless given. */
  readonly answeredMs: number
  /** After an answer with calls of tools that were not wrapped: nobody says whether they run. 10 s unless given. */
  readonly callsMs: number
  /** After a failure that may be tried again: the AI SDK retries by calling the model once more. 10 s unless given. */
  readonly retryMs: number
  /** How long a call waits for a turn of another process to end before it goes beside it. 2 s unless given. */
  readonly busyMs: number
}

type Ended = Exclude<TurnStatus, 'open'>

/** One exchange being recorded: the calls of a model that belong to one turn, and the tools between them. Nothing here
 *  fails for the storage's sake; `guard` hears of what could not be recorded. */
export interface Line {
  readonly branch: BranchRef
  readonly head: MessageId | null
  /** What the model was last given and has answered: the next call of this exchange begins with it. */
  readonly known: readonly Face[]
  /** `calling` while the model answers, `resting` until the next call, `ended` after that. */
  readonly state: 'calling' | 'resting' | 'ended'
  /** The status with which it ends unless it goes on. */
  readonly status: Ended
  /** Takes the next call: what is new in its prompt is stored. */
  goOn(fresh: readonly NewMessage[], signal: AbortSignal | undefined): Promise<void>
  draft(piece: Omit<DraftPiece, 'n'>): void
  /** What came of the call. */
  answer(answer: LineAnswer): Promise<void>
  /** Nothing came of the call, but it may come again. */
  failed(retryable: boolean): Promise<void>
  toolStarted(callId: string, name: string): Promise<void>
  /** A result. It is stored behind the answer that asked for it, at once if that is stored. False if the line has ended,
   *  and so cannot take it. */
  toolEnded(callId: string, name: string, message: NewMessage): Promise<boolean>
  end(status?: Ended): Promise<TurnReport>
}

/** What a model has answered, whole or as far as it had arrived. */
export interface LineAnswer {
  /** Null if there were no words. */
  readonly message: NewMessage | null
  /** Calls whose results have to come. */
  readonly calls: readonly string[]
  /** All of them are run by tools that say when they start: one that does not start soon waits for somebody. */
  readonly soon: boolean
  readonly usage?: Usage
  /** Given if the turn ends with it, however many calls there are. */
  readonly ends?: Ended
}

/** Begins a line on a turn that has just begun. */
export function lineOf(
  turn: TurnRecording,
  given: readonly Face[],
  options: {
    readonly signal: AbortSignal | undefined
    readonly patience: Patience
    readonly source: RecorderSource
    /** Runs what writes, and takes what it throws. */
    readonly guard: (write: () => Promise<unknown>) => Promise<void>
    readonly ended: (report: TurnReport) => void
    /** For a line that begins between two calls: the calls whose results have to come. */
    readonly awaits?: readonly string[]
  },
): Line {
  const { patience, source, guard } = options
  let known = [...given]
  let state: Line['state'] = options.awaits === undefined ? 'calling' : 'resting'
  let status: Ended = 'complete'
  let signal = options.signal
  let report: Promise<TurnReport> | null = null
  let callOff: (() => void) | null = null
  let isSoon = true
  const awaited = new Set(options.awaits)
  const running = new Set<string>()
  const early: NewMessage[] = []
  if (state === 'resting') rest()

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
    goOn,
    draft: piece => turn.draft(piece),
    answer,
    failed,
    toolStarted,
    toolEnded,
    end,
  }

  async function goOn(fresh: readonly NewMessage[], next: AbortSignal | undefined): Promise<void> {
    callOff?.()
    state = 'calling'
    status = 'complete'
    signal = next
    await add(fresh)
  }

  async function add(messages: readonly NewMessage[], usage?: Usage): Promise<void> {
    if (!isNonEmpty(messages)) return
    known = [...known, ...messages.map(faceOf)]
    for (const callId of messages.flatMap(resultsIn)) awaited.delete(callId)
    await guard(() => turn.add(messages, usage && { usage }))
  }

  async function answer({ message, calls, soon, usage, ends }: LineAnswer): Promise<void> {
    for (const callId of calls) awaited.add(callId)
    isSoon = soon
    if (message !== null) await add([message], usage)
    state = 'resting'
    await add(early.splice(0))
    if (ends !== undefined || calls.length === 0)
      await end(ends ?? 'complete', message === null ? usage : undefined)
    else rest()
  }

  async function failed(retryable: boolean): Promise<void> {
    if (!retryable) return void (await end('failed'))
    status = 'failed'
    state = 'resting'
    restFor(patience.retryMs)
  }

  async function toolStarted(callId: string, name: string): Promise<void> {
    running.add(callId)
    callOff?.()
    if (report === null) await guard(() => turn.trace([{ type: 'tool_started', data: { callId, name } }]))
  }

  async function toolEnded(callId: string, name: string, message: NewMessage): Promise<boolean> {
    running.delete(callId)
    if (report !== null) return false
    if (state === 'calling') early.push(message)
    else await add([message])
    await guard(() => turn.trace([{ type: 'tool_ended', data: { callId, name } }]))
    if (state === 'resting') rest()
    return true
  }

  /** Waits for the next call, or ends if there can be none. */
  function rest(): void {
    if (running.size > 0) return
    if (signal?.aborted) void end('interrupted')
    else restFor(awaited.size > 0 && !isSoon ? patience.callsMs : patience.answeredMs)
  }

  function restFor(ms: number): void {
    callOff?.()
    const callOffTimer = source.after(ms, () => void end(), { idle: true })
    const abort = () => void (running.size === 0 && end('interrupted'))
    const current = signal
    current?.addEventListener('abort', abort, { once: true })
    callOff = () => {
      callOffTimer()
      current?.removeEventListener('abort', abort)
    }
  }

  function end(as: Ended = state === 'calling' ? 'interrupted' : status, usage?: Usage): Promise<TurnReport> {
    callOff?.()
    state = 'ended'
    status = as
    report ??= finish(as, usage)
    return report
  }

  async function finish(as: Ended, usage: Usage | undefined): Promise<TurnReport> {
    let ended: TurnReport = { status: as, branch: turn.branch, head: turn.head, saved: false, unsaved: [] }
    await guard(async () => {
      ended = await turn.end(as, usage && { usage })
    })
    options.ended(ended)
    return ended
  }
}

function resultsIn({ blocks }: NewMessage): readonly string[] {
  if (typeof blocks === 'string') return []
  return blocks.flatMap(block => (block.type === 'tool_result' ? [String(block.callId)] : []))
}
