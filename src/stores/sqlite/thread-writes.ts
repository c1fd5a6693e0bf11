import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import { OutcomeUnknownError } from '../../core/errors.ts'
import { statementChannel } from '../../system/debug.ts'
import type { LargeProgram, Program, StatementCall, StatementResult, WriteMode } from '../engine/engine.ts'
import type { PartAnswer, StatementOfPart, TransactionPart } from './blocking-work-thread.ts'
import { type Checkpoints, fullPathOf } from './checkpoints.ts'
import { isBusy, noteWait } from './errors.ts'
import { handleSettings } from './handle-settings.ts'
import { type LongValues, longValuesIn, sendLongValues } from './long-values.ts'
import { patienceMs } from './retry-while-busy.ts'
import { compileTexts, textKey, valuesOf } from './statement-texts.ts'

/** Writes transactions on a handle of the thread, so that this process waits neither for SQLite nor for the
 *  disk. The program itself runs here: it sends its statements to the thread, and reads their results. */
export interface ThreadWriter {
  /** Whether transactions of this mode are written by the thread: those of long work, once it runs, and
   *  those with large values, which start it. */
  writes(mode: WriteMode): boolean
  /** Runs a program. Returns null without a thread, if it has ended meanwhile, or if the values are too
   *  large for it: the program has to be run here. Throws OutcomeUnknownError if it has ended during the
   *  commit of large values, which cannot be repeated. */
  run<T>(
    program: () => Program<T>,
    mode: WriteMode,
    options?: ThreadRunOptions<T>,
  ): Promise<{ readonly result: T } | null>
  /** Whether the thread has a handle on the file. */
  isOpen(): boolean
  /** Closes the thread's handle. The last handle of a file removes its log. */
  close(): Promise<void>
}

export interface ThreadRunOptions<T> {
  readonly values?: LargeProgram<T>['values']
  /** Whether to wait for another process that has the write lock. Default: for five seconds. */
  mayWait?(): boolean
}

const modes: ReadonlySet<WriteMode> = new Set(['bulk', 'removingSome', 'removingLast'])

/** Most statements without a result that wait for the next one. */
const mostWaiting = 200

/** Most bytes of values that the thread has at once: another copy of 100 MB would take too much memory. More
 *  of them follow with their statements. A larger value is written by this thread. */
export const mostSent = 67_108_864

let writers = 0

export function threadWriter(db: Database, log: Pick<Checkpoints, 'thread' | 'startThread'>): ThreadWriter {
  const writer = ++writers
  const texts = new Map<string, ReturnType<typeof compileTexts>>()
  let file: string | undefined
  let settings = ''
  return { writes, run, isOpen, close }

  function writes(mode: WriteMode): boolean {
    return mode === 'large' ? !db.memory && !db.readonly : modes.has(mode) && log.thread() !== null
  }

  function isOpen(): boolean {
    return file !== undefined
  }

  async function run<T>(
    program: () => Program<T>,
    mode: WriteMode,
    { values = [], mayWait = () => true }: ThreadRunOptions<T> = {},
  ): Promise<{ readonly result: T } | null> {
    if (values.some(({ length }) => length > mostSent)) return null
    if (mode === 'large') await log.startThread()
    if (log.thread() === null) return null
    if (values.reduce((sum, { length }) => sum + length, 0) > mostSent)
      return transact(program, mode, null, mayWait)
    const long = await sendLongValues(log, values)
    try {
      return await transact(program, mode, long, mayWait)
    } finally {
      long.forget()
    }
  }

  /** Without `long`, values are sent with their statements, and other writers wait for them too. */
  async function transact<T>(
    program: () => Program<T>,
    mode: WriteMode,
    long: LongValues | null,
    mayWait: () => boolean,
  ): Promise<{ readonly result: T } | null> {
    const steps = program()
    const waitsForDisk = mode === 'large' || mode === 'removingLast'
    const synchronous = waitsForDisk ? synchronousOf(db) : normal
    let given = unseen
    for (let isFirst = true; ; isFirst = false) {
      let part: ProgramPart<T>
      let bound: readonly StatementOfPart[]
      let own: LongValues | null
      try {
        part = nextPart(steps, given)
        bound = part.calls.flatMap(boundTexts)
        own = long === null ? await sendLongValues(log, bound.flatMap(longValuesIn)) : null
      } catch (error) {
        if (!isFirst) await send({ statements: [], end: 'ROLLBACK' })
        throw error
      }
      const { calls, end } = part
      const statements = bound.map((own ?? long!).replaceIn)
      const sent = { statements, ...(isFirst && { synchronous }), ...(end && { end: 'COMMIT' as const }) }
      const wasRunning = log.thread() !== null
      const answer = await traced(calls, () => sendWhileBusy(sent, mayWait))
      own?.forget()
      if (answer === null && mode === 'large' && end && wasRunning) throw lostInCommit()
      if (answer === null) return null
      if (answer.error) throw failureOf(answer.error)
      if (end) return end
      given = answer.results.at(-1)!
    }
  }

  async function close(): Promise<void> {
    await log.thread()?.askThread('release', { writer }, { isIdle: false })
    file = undefined
  }

  /** Waits while another process has the write lock. The thread itself does not wait: it may have begun a
   *  transaction for another writer of this process. */
  async function sendWhileBusy(part: Part, mayWait: () => boolean): Promise<PartAnswer | null> {
    const began = performance.now()
    for (;;) {
      const answer = await send(part)
      if (!answer?.error || part.synchronous === undefined) return answer
      const error = failureOf(answer.error)
      if (!isBusy(error)) return answer
      if (!mayWait()) throw error
      const waited = performance.now() - began
      if (waited >= patienceMs) {
        noteWait(error, waited)
        throw error
      }
      await pause(1 + Math.random() * 2)
    }
  }

  async function send(part: Part): Promise<PartAnswer | null> {
    const thread = log.thread()
    if (!thread) return null
    if (file === undefined) {
      file = fullPathOf(db)
      // Both handles have the same limit for their pages.
      settings = `${handleSettings('FULL')} PRAGMA cache_size = ${db.pragma('cache_size', { simple: true })};`
    }
    return thread.askThread('transact', { writer, file, settings, ...part }, { isIdle: false })
  }

  function boundTexts(call: StatementCall): readonly StatementOfPart[] {
    const key = textKey(call)
    const compiled = texts.get(key) ?? compileTexts(call)
    texts.set(key, compiled)
    return compiled.map(({ sql, names }) => ({ sql, values: valuesOf(names, call.params) }))
  }
}

function lostInCommit(): OutcomeUnknownError {
  return new OutcomeUnknownError('the thread that committed a large message ended before it answered', {
    hint: 'Read the head of the branch, or try again with the same turn key',
  })
}

type Part = Pick<TransactionPart, 'synchronous' | 'statements' | 'end'>

/** The result of a statement whose result is not read. */
const unseen: StatementResult = { rows: [], changes: 0 }

/** SQLite's number for a commit that does not wait for the disk. */
const normal = 1

/** The statements of a program up to the first whose result it reads, or to its end. */
interface ProgramPart<T> {
  readonly calls: readonly StatementCall[]
  readonly end: { readonly result: T } | null
}

function nextPart<T>(program: Program<T>, given: StatementResult): ProgramPart<T> {
  const calls: StatementCall[] = []
  let step = program.next(given)
  while (!step.done) {
    calls.push(step.value)
    if (step.value.wants !== 'nothing' || calls.length === mostWaiting) return { calls, end: null }
    step = program.next(unseen)
  }
  return { calls, end: { result: step.value } }
}

function synchronousOf(db: Database): number {
  return db.pragma('synchronous', { simple: true }) as number
}

function failureOf({ message, code }: { readonly message: string; readonly code: string }): Error {
  return Object.assign(new Error(message), { code })
}

/** Publishes how long the thread took for the statements of a part. */
async function traced(
  calls: readonly StatementCall[],
  send: () => Promise<PartAnswer | null>,
): Promise<PartAnswer | null> {
  if (!statementChannel.hasSubscribers) return send()
  const start = performance.now()
  const answer = await send()
  const results = answer?.error || answer === null ? [] : answer.results
  const rows = results.reduce((sum, result) => sum + result.rows.length + result.changes, 0)
  const failure = answer?.error && { error: failureOf(answer.error) }
  const statements = calls.length > 0 ? calls.map(({ name }) => name) : ['COMMIT']
  statementChannel.publish({ engine: 'sqlite', statements, rows, ms: performance.now() - start, ...failure })
  return answer
}
