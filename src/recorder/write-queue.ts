import { SkeinError, UnavailableError } from '../core/errors.ts'
import type { NewMessage } from '../core/message.ts'
import { retryChannel } from '../system/debug.ts'
import type { RecorderSource } from '../system/source.ts'
import type { RecorderLimits } from './limits.ts'
import type { Trouble } from './recording.ts'

/** One write of a turn. */
export interface QueuedWrite {
  /** If the queue is full, drafts and traces are dropped first. */
  readonly kind: 'said' | 'draft' | 'trace' | 'end'
  /** Its messages, in case it is never stored. */
  readonly messages: readonly NewMessage[]
  /** Its size in the queue; 0 if nothing is lost by dropping it. */
  readonly characters: number
  /** Runs the write. It may be called again after a failure, also if the outcome of the first attempt is
   *  unknown. `late`: it is a retry, or its caller no longer waits. */
  run(late: boolean): Promise<void>
  /** Whether an error is thrown to the caller, while the caller waits, instead of retrying. */
  refuses?(error: unknown): boolean
  /** Called if it is dropped. */
  drop?(): void
}

export interface WriteQueueOptions {
  readonly limits: RecorderLimits
  readonly source: Pick<RecorderSource, 'after' | 'now'>
  onTrouble(trouble: Trouble): void
  /** Stores a trace of an outage that is over. */
  onRecovered(outage: Outage): Promise<void>
  /** Called after each write that is known to be stored, before it leaves the queue. */
  onStored(): void
  /** The queue of an earlier turn on the same branch. Nothing is stored before it is settled. */
  readonly after?: EarlierWrites
}

/** The queued writes of an earlier turn. */
export interface EarlierWrites {
  readonly outage: Outage
  /** Characters of its queued writes, and of those before them. */
  readonly characters: number
  /** Resolves when its writes are stored or dropped. */
  readonly settled: Promise<unknown>
}

/** A period in which storage fails. */
export interface Outage {
  readonly since: number
  readonly error: unknown
}

/** The writes of one turn, one after the other. A write that fails stays in the queue and is retried, in
 *  order, so the stored messages are always a prefix of the turn. Retries continue after the turn has
 *  ended. */
export interface WriteQueue {
  /** Resolves with true when the write is stored, with false if it stays queued: after a first failure, or,
   *  if `patient`, only after `writeWithinMs`. Throws an error that the write refuses. */
  push(write: QueuedWrite, patient?: boolean): Promise<boolean>
  /** Set while writes are queued because storage fails. */
  readonly outage: Outage | null
  /** How many writes are not stored yet. */
  readonly waiting: number
  /** Characters of the queued writes, including those of earlier turns. */
  readonly characters: number
  /** The messages of the queued writes, oldest first. */
  readonly unsaved: readonly NewMessage[]
  /** True while messages or the end of the turn are queued and a retry can help. */
  readonly isRetrying: boolean
  /** Accepts no more writes, and waits up to `ms` for the queued ones. They stay queued after that: see
   *  `settled`. */
  finish(ms: number): Promise<void>
  /** Resolves after `finish`, when every write is stored or dropped. */
  readonly settled: Promise<void>
  /** How many messages were dropped. */
  readonly lost: number
}

interface Entry {
  readonly write: QueuedWrite
  tried: boolean
  /** Resolves the caller's promise; null after that, when errors can no longer be thrown to the caller. */
  release: ((stored: boolean) => void) | null
  readonly refuse: (error: unknown) => void
  readonly patient: boolean
}

const firstPauseMs = 100
const longestPauseMs = 2_000
/** While a caller waits for `finish`, or for a patient write. */
const longestPauseAttendedMs = 250

export function createWriteQueue(options: WriteQueueOptions): WriteQueue {
  const { limits, source } = options
  const waiting: Entry[] = []
  let running = false
  let outage: Outage | null = options.after?.outage ?? null
  /** Set while writes of an earlier turn are queued. */
  let blocked = options.after !== undefined
  /** No retry can help: the conversation was deleted, or the turn has ended. */
  let stopped = false
  let full = false
  let lost = 0
  let lossReported = false
  let pauseMs = firstPauseMs
  /** Failures since the last write that was stored. */
  let failures = 0
  let cancelRetry: (() => void) | null = null
  let finished = false
  /** True while a caller waits for `finish`. */
  let finishing = false
  const settled = Promise.withResolvers<void>()
  if (options.after) {
    void options.after.settled.then(() => {
      blocked = false
      void drain()
    })
  }

  return {
    push,
    get outage() {
      return outage
    },
    get waiting() {
      return waiting.length
    },
    get characters() {
      return charactersWaiting()
    },
    get unsaved() {
      return waiting.flatMap(({ write }) => write.messages)
    },
    get isRetrying() {
      return !stopped && waiting.some(({ write }) => !isMinor(write))
    },
    finish,
    settled: settled.promise,
    get lost() {
      return lost
    },
  }

  function push(write: QueuedWrite, patient = false): Promise<boolean> {
    if (full && write.kind !== 'end') return giveUp(write)
    return new Promise((resolve, reject) => {
      const cancel = source.after(limits.writeWithinMs, () => timeOut(entry))
      const entry: Entry = {
        write,
        tried: false,
        patient,
        release: stored => {
          entry.release = null
          cancel()
          resolve(stored)
        },
        refuse: error => {
          cancel()
          reject(error)
        },
      }
      waiting.push(entry)
      makeRoom(entry)
      if (stopped || (outage && !patient)) entry.release?.(false)
      void drain()
    })
  }

  /** The write takes too long, by failing or by hanging. */
  function timeOut(entry: Entry): void {
    degrade(tooSlow())
    entry.release?.(false)
  }

  async function drain(): Promise<void> {
    if (running || stopped || blocked || cancelRetry) return
    running = true
    for (let entry = waiting[0]; entry && !stopped; entry = waiting[0]) {
      try {
        const late = entry.tried || entry.release === null
        entry.tried = true
        await entry.write.run(late)
      } catch (error) {
        if (stopped) break
        if (entry.release && entry.write.refuses?.(error)) {
          waiting.shift()
          entry.refuse(error)
          continue
        }
        if (!isStorageTrouble(error) && isMinor(entry.write)) {
          // A draft or trace that can never be stored is dropped; the other writes continue.
          waiting.shift()
          void giveUp(entry.write)
          continue
        }
        if (isStorageTrouble(error)) retryLater(error)
        else breakDown(error)
        running = false
        return
      }
      options.onStored()
      waiting.shift()
      entry.release?.(true)
      pauseMs = firstPauseMs
      failures = 0
    }
    if (outage && !stopped) await recover(outage)
    running = false
    if (waiting.length > 0) void drain()
    else if (!outage && finished) settled.resolve()
  }

  async function recover(over: Outage): Promise<void> {
    try {
      await options.onRecovered(over)
    } catch (error) {
      // All messages are stored; only the trace of the outage is not.
      if (isStorageTrouble(error)) return retryLater(error)
    }
    // Writes that were pushed meanwhile are stored before the recovery is reported.
    if (waiting.length > 0 || stopped) return
    outage = null
    options.onTrouble({ kind: 'recovered', error: over.error, waiting: 0 })
  }

  function retryLater(error: unknown): void {
    degrade(error)
    const attended = finishing || waiting.some(entry => entry.patient && entry.release)
    const ms = attended ? Math.min(pauseMs, longestPauseAttendedMs) : pauseMs
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    failures++
    if (retryChannel.hasSubscribers)
      retryChannel.publish({ what: 'write', attempt: failures, pauseMs: ms, error, waiting: waiting.length })
    cancelRetry = source.after(ms, retryNow, { idle: true })
  }

  function retryNow(): void {
    cancelRetry?.()
    cancelRetry = null
    void drain()
  }

  function degrade(error: unknown): void {
    const isReason = outage !== null && guesses.has(outage.error as object) && !guesses.has(error as object)
    if ((!outage || isReason) && !stopped) {
      outage = { since: outage?.since ?? source.now(), error }
      options.onTrouble({ kind: 'degraded', error, waiting: waiting.length })
    }
    for (const entry of waiting) if (!entry.patient) entry.release?.(false)
  }

  /** No retry can help: the caller keeps the queued messages and all later ones. */
  function breakDown(error: unknown): void {
    stopped = true
    options.onTrouble({ kind: 'lost', error, waiting: waiting.length })
    for (const entry of waiting) entry.release?.(false)
    settled.resolve()
  }

  /** Drops the oldest drafts and traces. If that is not enough, drops the newest messages and all later ones:
   *  a missing end is better than a gap. */
  function makeRoom(newest: Entry): void {
    while (isOver()) {
      const from = running ? 1 : 0
      const i = waiting.findIndex(({ write }, i) => i >= from && isMinor(write))
      if (i < 0) break
      const [entry] = waiting.splice(i, 1)
      void giveUp(entry!.write)
      entry!.release?.(false)
    }
    if (!isOver() || newest.write.kind === 'end' || waiting.at(-1) !== newest) return
    waiting.pop()
    void giveUp(newest.write)
    newest.release?.(false)
  }

  function isOver(): boolean {
    // One write always fits: it is being tried.
    if (waiting.length <= 1) return false
    return waiting.length > limits.waitingWrites || charactersWaiting() > limits.waitingCharacters
  }

  function charactersWaiting(): number {
    const earlier = blocked ? options.after!.characters : 0
    return waiting.reduce((sum, { write }) => sum + write.characters, earlier)
  }

  async function giveUp(write: QueuedWrite): Promise<boolean> {
    if (write.kind === 'said') {
      full = true
      lost += write.messages.length
    }
    if (write.characters > 0) reportLost()
    write.drop?.()
    return false
  }

  function reportLost(): void {
    if (lossReported) return
    lossReported = true
    const error = outage?.error ?? new UnavailableError('more is waiting to be stored than there is room for')
    options.onTrouble({ kind: 'lost', error, waiting: waiting.length })
  }

  async function finish(ms: number): Promise<void> {
    finished = true
    if (stopped || (waiting.length === 0 && !running && !outage)) {
      settled.resolve()
      return
    }
    finishing = true
    pauseMs = firstPauseMs
    if (cancelRetry) retryNow()
    const timeout = Promise.withResolvers<void>()
    const cancel = source.after(ms, timeout.resolve)
    await Promise.race([settled.promise, timeout.promise])
    cancel()
    finishing = false
    if (waiting.length > 0 && !stopped) degrade(tooSlow())
    for (const entry of waiting) entry.release?.(false)
  }
}

/** Errors that were made here before the store has said what is wrong. */
const guesses = new WeakSet<object>()

function tooSlow(): UnavailableError {
  const error = new UnavailableError('the store takes too long to answer')
  guesses.add(error)
  return error
}

function isMinor({ kind }: QueuedWrite): boolean {
  return kind === 'draft' || kind === 'trace'
}

/** Whether the error comes from the storage, or is unknown: then a retry may help. */
function isStorageTrouble(error: unknown): boolean {
  if (!(error instanceof SkeinError)) return true
  switch (error.code) {
    case 'unavailable':
    case 'misconfigured':
    case 'storage_full':
    case 'read_only':
    case 'outcome_unknown':
    case 'corrupt':
    case 'schema_too_new':
    case 'busy':
    case 'conflict':
      return true
    default:
      return false
  }
}
