import { setImmediate } from 'node:timers'
import type { Database } from 'better-sqlite3'
import { UnavailableError } from '../../core/errors.ts'
import type { Stepwise } from '../../core/large/stepwise.ts'
import { finishInTurns } from '../../system/finish-in-turns.ts'
import type { LargeProgram, Program, WriteMode } from '../engine/engine.ts'
import { isBusy, translate } from './errors.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** Most writes, and most milliseconds of writing, before the event loop turns. */
const writesPerTick = 64
const msPerTick = 20

/** Microtasks between a transaction and the next one of the same tick. By then the callers of the first have
 *  their answers, and callers that run side by side have called. */
const hopsPerGroup = 8

/** What an engine does for its queue, all of it synchronously unless the thread does it. */
export interface GroupEngine {
  /** The path of the store, for errors. */
  readonly file: string | null
  /** Milliseconds. */
  readonly clock: () => number
  /** Runs a program in a transaction of its own. Throws a busy error only if nothing has begun. */
  runAlone(program: () => Program<unknown>, mode: WriteMode): unknown
  /** Whether transactions of this mode are written by the thread now. */
  isForThread(mode: WriteMode): boolean
  /** Has a transaction written by the thread. Returns null if there is none any more. Throws a busy error
   *  only if nothing has begun, at once if `mayWait` returns false. */
  runInThread(
    program: () => Program<unknown>,
    mode: WriteMode,
    values: LargeProgram<unknown>['values'],
    mayWait: () => boolean,
  ): Promise<{ readonly result: unknown } | null>
  begin(): void
  /** Runs a program in a savepoint of the current transaction. */
  runNested(program: () => Program<unknown>): unknown
  commit(): void
  /** Makes a committed transaction durable, if its mode requires it. Returns null when it is, or else a
   *  promise. Throws if the disk does not confirm it. */
  sync(mode: WriteMode): Promise<void> | null
  /** Whether transactions are synced after the lock is released. */
  isLockBrief(): boolean
  /** Called after each transaction with the number of its writes, and whether it is bulk work. Returns
   *  whether a checkpoint is due when the event loop turns. */
  wrote(count: number, isBulk: boolean): boolean
  /** The end of a checkpoint in another thread, if the caller of the last write should wait for it. */
  copyToWaitFor(isBulk: boolean): Promise<void> | null
}

/** The queue of writes on a handle of ours. */
export interface GroupCommit {
  write<T>(program: () => Program<T>, mode: WriteMode): Promise<T>
  /** A write whose values are still being made. Those that follow wait for it. */
  writeLarge<T>(making: Stepwise<LargeProgram<T>>): Promise<T>
  /** Refuses further writes, and those of the search index that wait: the next process continues it.
   *  Returns a promise for the other ones, if there are any. */
  end(): Promise<void> | undefined
}

/** A write without an answer. */
interface WaitingWrite {
  readonly program: () => Program<unknown>
  /** Settles when the program can be run. Null if it can be. */
  making: Promise<void> | null
  /** Its large parameters. */
  values: LargeProgram<unknown>['values']
  readonly mode: WriteMode
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  /** Whether it needs a transaction of its own, because SQLite has rolled back its group. */
  isAlone: boolean
  /** Whether it is written here, because the thread has ended. */
  isHere: boolean
}

/** The end of a program: its result, or why it wrote nothing. */
type Outcome = { readonly result: unknown } | { readonly error: unknown }

/** Group commit: the first write of a tick runs at once; those that follow share a transaction and one sync
 *  of the disk, also if they come from several callbacks, such as the requests of a server. Each has its own
 *  savepoint and its own answer, which it gets after the commit. Writes take effect in the order of the
 *  calls. */
export function groupCommit(db: Database, engine: GroupEngine): GroupCommit {
  const waiting: WaitingWrite[] = []
  let state: 'idle' | 'collecting' | 'writing' = 'idle'
  /** The write that the thread makes. */
  let inThread: WaitingWrite | null = null
  /** Writes since the event loop turned. */
  let writesInTick = 0
  let tickEnd = 0
  let isCheckpointDue = false
  let isEnding = false
  let ended: (() => void) | undefined

  return { write, writeLarge, end }

  function write<T>(program: () => Program<T>, mode: WriteMode): Promise<T> {
    if (isEnding) return Promise.reject(closedError())
    if (state !== 'idle' || writesInTick > 0 || engine.isForThread(mode)) return enqueue(program, mode)
    try {
      const result = engine.runAlone(program, mode) as T
      countWrite()
      noteCommit(1, mode)
      collect()
      const unfinished = syncAndCopy(mode)
      return unfinished ? unfinished.then(() => result) : Promise.resolve(result)
    } catch (error) {
      if (!isBusy(error)) return Promise.reject(translate(error, engine.file))
    }
    state = 'writing'
    const answer = enqueue(program, mode)
    void writeWhenUnlocked()
    return answer
  }

  function writeLarge<T>(making: Stepwise<LargeProgram<T>>): Promise<T> {
    if (isEnding) return Promise.reject(closedError())
    let made: () => Program<T>
    const answer = enqueue(() => made(), 'large')
    const write = waiting.at(-1)!
    write.making = finishInTurns(making).then(
      ({ program, values }) => {
        made = program
        write.values = values
        write.making = null
      },
      error => {
        made = () => {
          throw error
        }
        write.making = null
      },
    )
    return answer
  }

  function enqueue<T>(program: () => Program<T>, mode: WriteMode): Promise<T> {
    const answer = new Promise<T>((resolve, reject) => {
      const write = { program, mode, resolve: resolve as (value: unknown) => void, reject }
      waiting.push({ ...write, making: null, values: [], isAlone: false, isHere: false })
    })
    // Another callback of this tick has written, such as that of another request, and further ones may
    // follow. Or the write is a long one, for the thread.
    if (state === 'idle') {
      state = 'collecting'
      writeInNextTick()
    }
    return answer
  }

  /** Waits in microtasks, so that a loop of awaited writes does not wait for the event loop each time. */
  function collect(): void {
    state = 'collecting'
    let hops = hopsPerGroup
    queueMicrotask(hop)
    function hop(): void {
      if (--hops > 0) queueMicrotask(hop)
      else if (waiting.length > 0) writeWaiting()
      else state = 'idle'
    }
  }

  function writeWaiting(): void {
    state = 'writing'
    while (waiting.length > 0) {
      if (isTickFull()) {
        writeInNextTick()
        return
      }
      const [next] = waiting
      if (next!.making) {
        void next!.making.then(writeWaiting)
        return
      }
      if (!next!.isHere && engine.isForThread(next!.mode)) {
        void writeInThread(next!)
        return
      }
      try {
        writeNext()
      } catch {
        // Another process holds the lock: nothing else is thrown.
        void writeWhenUnlocked()
        return
      }
    }
    collect()
    ended?.()
  }

  function writeInNextTick(): void {
    // A checkpoint has a turn of the event loop for itself.
    if (isCheckpointDue) setImmediate(() => setImmediate(writeWaiting))
    else setImmediate(writeWaiting)
    isCheckpointDue = false
  }

  /** Other writes wait meanwhile, as they would for a transaction of this handle. */
  async function writeInThread(write: WaitingWrite): Promise<void> {
    const { program, mode, values } = write
    let outcome: Outcome
    inThread = write
    try {
      const written = await engine.runInThread(program, mode, values, () => !(isEnding && isForIndex(write)))
      outcome = { result: written?.result }
      write.isHere = written === null
    } catch (error) {
      outcome = { error: translate(error, engine.file) }
    }
    inThread = null
    if (!write.isHere) {
      waiting.shift()
      noteCommit(1, mode)
      answer([write], [outcome], mode)
    }
    writeWaiting()
  }

  async function writeWhenUnlocked(): Promise<void> {
    const early = new Set(waiting)
    try {
      await retryWhileBusy(writeNext, undefined, engine.isLockBrief())
    } catch (error) {
      // All of them have waited as long as the first.
      refuse(write => early.has(write), translate(error, engine.file))
    }
    writeWaiting()
  }

  function refuse(isRefused: (write: WaitingWrite) => boolean, error: unknown): void {
    const refused = waiting.filter(isRefused)
    waiting.splice(0, waiting.length, ...waiting.filter(write => !isRefused(write)))
    for (const { reject } of refused) reject(error)
  }

  /** Writes one or more in one transaction. Throws only if another process holds the lock. */
  function writeNext(): void {
    const [next, second] = waiting
    if (next === undefined) return
    if (second !== undefined && mayShare(next) && mayShare(second)) writeGroup()
    else writeOne(next)
  }

  function writeOne(write: WaitingWrite): void {
    const { program, mode } = write
    let outcome: Outcome
    try {
      outcome = { result: engine.runAlone(program, mode) }
    } catch (error) {
      if (isBusy(error)) throw error
      outcome = { error: translate(error, engine.file) }
    }
    waiting.shift()
    countWrite()
    noteCommit(1, mode)
    answer([write], [outcome], mode)
  }

  /** Answers the writes of a transaction when it is on the disk. */
  function answer(writes: readonly WaitingWrite[], outcomes: readonly Outcome[], mode: WriteMode): void {
    const settle = () => {
      for (const [i, { resolve, reject }] of writes.entries()) {
        const outcome = outcomes[i]!
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.result)
      }
    }
    const fail = (error: unknown) => {
      for (const [i, { reject }] of writes.entries()) {
        const outcome = outcomes[i]!
        reject('error' in outcome ? outcome.error : error)
      }
    }
    if (outcomes.every(outcome => 'error' in outcome)) {
      settle()
      return
    }
    try {
      const unfinished = syncAndCopy(mode)
      if (unfinished) void unfinished.then(settle, fail)
      else settle()
    } catch (error) {
      fail(error)
    }
  }

  /** What remains to be done before a transaction is answered: its sync, and a checkpoint that it waits
   *  for. */
  function syncAndCopy(mode: WriteMode): Promise<unknown> | null {
    const syncing = engine.sync(mode)
    const copying = engine.copyToWaitFor(isBulk(mode))
    return syncing && copying ? Promise.all([syncing, copying]) : (syncing ?? copying)
  }

  function writeGroup(): void {
    try {
      engine.begin()
    } catch (error) {
      if (isBusy(error)) throw error
      waiting.shift()!.reject(translate(error, engine.file))
      return
    }
    const outcomes: Outcome[] = []
    for (const { program } of groupOf(waiting)) {
      try {
        outcomes.push({ result: engine.runNested(program) })
      } catch (error) {
        outcomes.push({ error: translate(error, engine.file) })
      }
      countWrite()
      // Some failures of the disk roll back the whole transaction.
      if (!db.inTransaction) {
        for (const one of waiting.slice(0, outcomes.length)) one.isAlone = true
        return
      }
      if (isTickFull()) break
    }
    const group = waiting.splice(0, outcomes.length)
    try {
      engine.commit()
    } catch (error) {
      for (const { reject } of group) reject(translate(error, engine.file))
      return
    }
    noteCommit(group.length, 'durable')
    answer(group, outcomes, 'durable')
  }

  function countWrite(): void {
    if (writesInTick++ > 0) return
    tickEnd = engine.clock() + msPerTick
    setImmediate(() => {
      writesInTick = 0
    })
  }

  /** A checkpoint must not wait for the end of a loop of awaited writes: the log would grow. */
  function noteCommit(count: number, mode: WriteMode): void {
    // A large write fills the log like many others.
    isCheckpointDue = engine.wrote(mode === 'large' ? writesPerTick : count, isBulk(mode))
    if (isCheckpointDue) tickEnd = 0
  }

  function isTickFull(): boolean {
    return writesInTick > 0 && (writesInTick >= writesPerTick || engine.clock() >= tickEnd)
  }

  function end(): Promise<void> | undefined {
    isEnding = true
    refuse(write => isForIndex(write) && write !== inThread, closedError())
    if (waiting.length === 0) return undefined
    return new Promise(resolve => {
      ended = resolve
    })
  }
}

/** The writes that share the next transaction. */
function groupOf(waiting: readonly WaitingWrite[]): readonly WaitingWrite[] {
  const end = waiting.findIndex(one => !mayShare(one))
  return end === -1 ? waiting.slice(0, writesPerTick) : waiting.slice(0, Math.min(end, writesPerTick))
}

/** A batch of the search index. */
function isForIndex({ mode }: WaitingWrite): boolean {
  return mode === 'bulk'
}

/** The search index, and deletions. */
function isBulk(mode: WriteMode): boolean {
  return mode !== 'durable' && mode !== 'large' && mode !== 'relaxed'
}

function mayShare({ mode, isAlone }: WaitingWrite): boolean {
  return mode === 'durable' && !isAlone
}

/** The error of a call after `close()`. */
export function closedError(): UnavailableError {
  return new UnavailableError('the store is closed', { hint: 'Open it again' })
}
