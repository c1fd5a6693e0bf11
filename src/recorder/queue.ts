import { SkeinError, UnavailableError } from '../core/errors.ts'
import type { NewMessage } from '../core/message.ts'
import { retryChannel } from '../system/debug.ts'
import type { RecorderSource } from '../system/source.ts'
import type { RecorderLimits } from './limits.ts'
import type { Trouble } from './recording.ts'

/** One write of a turn. */
export interface Write {
  /** What was said is kept to the last. A draft and a trace go first when there is no more room. */
  readonly kind: 'said' | 'draft' | 'trace' | 'end'
  /** What it says, in case it never gets stored. */
  readonly messages: readonly NewMessage[]
  /** How much room it takes while it waits; nothing if there is nothing to lose in it. */
  readonly characters: number
  /** Does it. It may be called again after it failed, whatever became of the first attempt; `late` says that
   *  whoever asked for it did not wait. */
  run(late: boolean): Promise<void>
  /** Whether an error is for whoever asked, as long as they wait: then it is not tried again. */
  refuses?(error: unknown): boolean
  /** Called if it is given up. */
  drop?(): void
}

export interface QueueOptions {
  readonly limits: RecorderLimits
  readonly source: Pick<RecorderSource, 'after' | 'now'>
  tell(trouble: Trouble): void
  /** Leaves a trace of an outage once it is over. */
  recovered(outage: Outage): Promise<void>
  /** Called after each write that is known to be stored, before the queue shows that it waits no longer. */
  onStored(): void
  /** The queue of an earlier turn on the same branch that still waits. Nothing is stored before it is
   *  settled. */
  readonly after?: EarlierWrites
}

/** The writes of an earlier turn, as far as a later queue needs them. */
export interface EarlierWrites {
  readonly outage: Outage
  /** Characters of its waiting writes, and of those before it. */
  readonly characters: number
  /** Resolves once its writes are stored or given up. */
  readonly settled: Promise<unknown>
}

/** A time in which the storage failed. */
export interface Outage {
  readonly since: number
  readonly error: unknown
}

/** The writes of one turn, one after the other. A write that fails waits and is retried, in order, so the
 *  stored messages are always a prefix of the turn. Retries continue after the turn has ended. */
export interface WriteQueue {
  /** True once it is stored, false if it waits: after a first failure, or, for those who are `patient`, only
   *  after `writeWithinMs`. Throws what the write refuses. */
  push(write: Write, patient?: boolean): Promise<boolean>
  /** Set while writes wait because the storage fails. */
  readonly outage: Outage | null
  /** Writes that are not stored yet. */
  readonly waiting: number
  /** Characters of the writes that wait, those of earlier turns included. */
  readonly characters: number
  /** The messages of the writes that wait, oldest first. */
  readonly unsaved: readonly NewMessage[]
  /** True while messages or the end of the turn wait and retrying can help. */
  readonly isRetrying: boolean
  /** Takes no more writes and waits up to `ms` for those that wait. They stay queued after that: see
   *  `settled`. */
  finish(ms: number): Promise<void>
  /** Resolves after `finish`, once every write is stored or given up. */
  readonly settled: Promise<void>
  /** Messages that are neither stored nor kept. */
  readonly lost: number
}

interface Entry {
  readonly write: Write
  tried: boolean
  /** Lets the one who pushed it go on; afterwards there is nobody to refuse anything to. */
  release: ((stored: boolean) => void) | null
  readonly refuse: (error: unknown) => void
  readonly patient: boolean
}

const firstPauseMs = 100
const longestPauseMs = 2_000
/** While somebody waits for the end, or for their words to be stored. */
const longestPauseAttendedMs = 250

export function writeQueue(options: QueueOptions): WriteQueue {
  const { limits, source } = options
  const waiting: Entry[] = []
  let running = false
  let outage: Outage | null = options.after?.outage ?? null
  /** Set while the writes of an earlier turn wait. */
  let blocked = options.after !== undefined
  /** Nothing more can be stored: the conversation is gone, or the turn has ended. */
  let stopped = false
  let full = false
  let lost = 0
  let toldLost = false
  let pauseMs = firstPauseMs
  /** Failures since the last write that was stored. */
  let failures = 0
  let callOffRetry: (() => void) | null = null
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

  function push(write: Write, patient = false): Promise<boolean> {
    if (full && write.kind !== 'end') return giveUp(write)
    return new Promise((resolve, reject) => {
      const callOff = source.after(limits.writeWithinMs, () => letGo(entry))
      const entry: Entry = {
        write,
        tried: false,
        patient,
        release: stored => {
          entry.release = null
          callOff()
          resolve(stored)
        },
        refuse: error => {
          callOff()
          reject(error)
        },
      }
      waiting.push(entry)
      makeRoom(entry)
      if (stopped || (outage && !patient)) entry.release?.(false)
      void drain()
    })
  }

  /** It takes too long, whether it fails or only hangs. */
  function letGo(entry: Entry): void {
    degrade(tooSlow())
    entry.release?.(false)
  }

  async function drain(): Promise<void> {
    if (running || stopped || blocked || callOffRetry) return
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
          // Nobody is there to be told, and it is not worth the rest.
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
      await options.recovered(over)
    } catch (error) {
      // All that was said is stored; only the trace of the outage is not.
      if (isStorageTrouble(error)) return retryLater(error)
    }
    // Whatever was pushed meanwhile is stored before anybody hears that all is well.
    if (waiting.length > 0 || stopped) return
    outage = null
    options.tell({ kind: 'recovered', error: over.error, waiting: 0 })
  }

  function retryLater(error: unknown): void {
    degrade(error)
    const attended = finishing || waiting.some(entry => entry.patient && entry.release)
    const ms = attended ? Math.min(pauseMs, longestPauseAttendedMs) : pauseMs
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    failures++
    if (retryChannel.hasSubscribers)
      retryChannel.publish({ what: 'write', attempt: failures, pauseMs: ms, error, waiting: waiting.length })
    callOffRetry = source.after(ms, retryNow, { idle: true })
  }

  function retryNow(): void {
    callOffRetry?.()
    callOffRetry = null
    void drain()
  }

  function degrade(error: unknown): void {
    if (!outage && !stopped) {
      outage = { since: source.now(), error }
      options.tell({ kind: 'degraded', error, waiting: waiting.length })
    }
    for (const entry of waiting) if (!entry.patient) entry.release?.(false)
  }

  /** No retry can help: what waits, and what is still to come, stays with the caller. */
  function breakDown(error: unknown): void {
    stopped = true
    options.tell({ kind: 'lost', error, waiting: waiting.length })
    for (const entry of waiting) entry.release?.(false)
    settled.resolve()
  }

  /** The oldest drafts and traces go first. If that is not enough, the newest words go, and all that follow:
   *  a hole in what was said would be worse than its end missing. */
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
    // One write always has room: it is not waiting, it is being tried.
    if (waiting.length <= 1) return false
    return waiting.length > limits.waitingWrites || charactersWaiting() > limits.waitingCharacters
  }

  function charactersWaiting(): number {
    const earlier = blocked ? options.after!.characters : 0
    return waiting.reduce((sum, { write }) => sum + write.characters, earlier)
  }

  async function giveUp(write: Write): Promise<boolean> {
    if (write.kind === 'said') {
      full = true
      lost += write.messages.length
    }
    if (write.characters > 0) tellLost()
    write.drop?.()
    return false
  }

  function tellLost(): void {
    if (toldLost) return
    toldLost = true
    const error = outage?.error ?? new UnavailableError('more is waiting to be stored than there is room for')
    options.tell({ kind: 'lost', error, waiting: waiting.length })
  }

  async function finish(ms: number): Promise<void> {
    finished = true
    if (stopped || (waiting.length === 0 && !running && !outage)) {
      settled.resolve()
      return
    }
    finishing = true
    pauseMs = firstPauseMs
    if (callOffRetry) retryNow()
    const timeout = Promise.withResolvers<void>()
    const callOff = source.after(ms, timeout.resolve)
    await Promise.race([settled.promise, timeout.promise])
    callOff()
    finishing = false
    if (waiting.length > 0 && !stopped) degrade(tooSlow())
    for (const entry of waiting) entry.release?.(false)
  }
}

function tooSlow(): UnavailableError {
  return new UnavailableError('the store takes too long to answer')
}

function isMinor({ kind }: Write): boolean {
  return kind === 'draft' || kind === 'trace'
}

/** Whether the storage is at fault, or something nobody thought of: then it may help to try again. */
function isStorageTrouble(error: unknown): boolean {
  if (!(error instanceof SkeinError)) return true
  switch (error.code) {
    case 'unavailable':
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
