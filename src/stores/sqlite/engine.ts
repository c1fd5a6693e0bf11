import type { Database, Statement } from 'better-sqlite3'
import { finishAtOnce, type Stepwise } from '../../core/large/stepwise.ts'
import type { Remnant } from '../../core/removal.ts'
import type { Source } from '../../core/source.ts'
import { leaseMs as usualLeaseMs } from '../../core/turn.ts'
import { statementChannel } from '../../system/debug.ts'
import { finishReads, readInTurn } from '../../system/event-loop-turns.ts'
import {
  type Engine,
  type LargeProgram,
  type Program,
  runProgram,
  type StatementCall,
  type StatementResult,
  type WriteMode,
} from '../engine/engine.ts'
import { checkpoints } from './checkpoints.ts'
import { ftsQuery } from './dialect.ts'
import { isBusy, translate } from './errors.ts'
import { closedError, groupCommit } from './group-commit.ts'
import { type LogFile, logSync } from './log-sync.ts'
import { retryWhileBusy } from './retry-while-busy.ts'
import { compileTexts, textKey, valuesOf } from './statement-texts.ts'
import { threadWriter } from './thread-writes.ts'

/** About 20 ms. */
const rowsPerStatement = 20_000

export interface SqliteEngineOptions {
  readonly source: Source
  /** Default: 30,000. */
  readonly leaseMs?: number
  /** The path of the store, for errors. Default: the file of the handle. */
  readonly file?: string
  /** Whether closing the engine closes the handle, and whether the engine makes checkpoints. */
  readonly owned: boolean
  /** Milliseconds, for the time that a group of writes or a sync takes. Default: the clock of the machine. */
  readonly clock?: () => number
  /** How the log is synced. Default: by the operating system. */
  readonly logFile?: LogFile
}

/** Transactions on one handle. A program runs synchronously from begin to commit, so no other code of this
 *  process runs in between. On a handle of ours, writes go through a queue (`group-commit.ts`); on a borrowed
 *  one each runs at once, inside the owner's transaction if there is one. */
export function sqliteEngine(db: Database, options: SqliteEngineOptions): Engine {
  const { source, leaseMs = usualLeaseMs, owned } = options
  const file = options.file ?? fileOf(db)
  const call = caller(db)
  const begin = runner(db, 'BEGIN')
  const beginImmediate = runner(db, 'BEGIN IMMEDIATE')
  const commit = runner(db, 'COMMIT')
  const savepoint = runner(db, 'SAVEPOINT skein')
  const release = runner(db, 'RELEASE skein')
  const clock = options.clock ?? Date.now
  const disk = owned ? logSync(db, clock, options.logFile) : null
  const log = disk ? checkpoints(db, disk) : null
  const thread = log ? threadWriter(db, log) : null
  const group = log
    ? groupCommit(db, {
        file,
        clock,
        runAlone,
        isForThread: mode => thread!.writes(mode),
        runInThread,
        begin: beginGroup,
        runNested,
        commit: commitGroup,
        sync: mode => (waitsForDisk(mode) ? disk!.sync(mode === 'large') : null),
        isLockBrief: disk!.takesOver,
        wrote: log.wrote,
        copyToWaitFor: log.copyToWaitFor,
      })
    : null
  /** Stops the work of child processes when the store is closed. */
  let closing: AbortController | undefined
  let pass: Promise<readonly Remnant[]> = Promise.resolve([])
  let nextPass: Promise<readonly Remnant[]> | undefined

  return {
    source,
    leaseMs,
    rowsPerStatement,
    query,
    read,
    write,
    writeLarge,
    matchText: ftsQuery,
    inspect,
    removeTraces,
    compact,
    close,
    isJoined: isTheirs,
    isFree: () => db.open && !db.inTransaction && !db.readonly,
    noteUnindexed: () => undefined,
    indexElsewhere: async (work, isIdle = false) => {
      if (!owned || !db.open || db.readonly) return false
      // Loaded lazily: a short command indexes little.
      return (await import('./index-elsewhere.ts')).indexElsewhere(db, { work, isIdle, signal: closed() })
    },
    tidyAfter: 96,
  }

  async function query<T>(program: () => Program<T>): Promise<T> {
    return inTurn(() => atOnce(() => runProgram(program(), call), isOurs, file))
  }

  /** A reader only waits for a process that has just opened the file after a crash, or that is the last to
   *  close it. */
  async function read<T>(program: () => Program<T>): Promise<T> {
    const work = () => {
      if (isTheirs()) return runProgram(program(), call)
      begin()
      return finish(program)
    }
    return inTurn(() => atOnce(work, isOurs, file))
  }

  /** A borrowed handle reads at once: it may be inside a transaction of its owner, which ends soon. */
  function inTurn<T>(read: () => T | Promise<T>): T | Promise<T> {
    return owned ? readInTurn(read) : read()
  }

  /** Whether the handle is outside any transaction of its owner. Waiting inside one would be in vain. */
  function isOurs(): boolean {
    return !db.inTransaction
  }

  /** Whether the call is inside a transaction of the handle's owner. Never true for our own handle. */
  function isTheirs(): boolean {
    return !owned && db.inTransaction
  }

  function write<T>(program: () => Program<T>, mode: WriteMode = 'durable'): Promise<T> {
    return group ? group.write(program, mode) : writeAtOnce(program, mode)
  }

  function writeLarge<T>(making: Stepwise<LargeProgram<T>>): Promise<T> {
    if (!group) return writeAtOnce(finishAtOnce(making).program, 'durable')
    // Takes as long as preparing 30 MB.
    if (thread!.writes('large')) void log!.startThread()
    return group.writeLarge(making)
  }

  async function writeAtOnce<T>(program: () => Program<T>, mode: WriteMode): Promise<T> {
    let begun = false
    return atOnce(
      () => {
        // A savepoint makes the write all or nothing inside a transaction of the handle's owner.
        if (!isTheirs()) return runAlone(program, mode)
        begun = true
        return runNested(program)
      },
      () => !begun,
      file,
    )
  }

  /** Synchronous: a setting that is changed for one write must not affect another. Throws a busy error only
   *  if nothing has begun. */
  function runAlone<T>(program: () => Program<T>, mode: WriteMode): T {
    const isSyncedLater = disk?.takesOver() ?? false
    const restore = isSyncedLater || isDurable(mode) ? undefined : change(mode)
    try {
      // Take the write lock before reading the head, or two processes could both see the old one.
      beginImmediate()
      try {
        return finish(program)
      } catch (error) {
        throw translate(error, file)
      }
    } finally {
      for (const setting of restore ?? []) db.pragma(setting)
    }
  }

  function finish<T>(program: () => Program<T>): T {
    try {
      const result = runProgram(program(), call)
      commit()
      return result
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  function runNested<T>(program: () => Program<T>): T {
    savepoint()
    try {
      const result = runProgram(program(), call)
      release()
      return result
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK TO skein; RELEASE skein')
      throw error
    }
  }

  function runInThread(
    program: () => Program<unknown>,
    mode: WriteMode,
    values: LargeProgram<unknown>['values'],
    mayWait: () => boolean,
  ) {
    // The thread syncs a commit if this handle does.
    disk!.takesOver()
    return thread!.run(program, mode, { values, mayWait })
  }

  function beginGroup(): void {
    disk!.takesOver()
    beginImmediate()
  }

  function commitGroup(): void {
    try {
      commit()
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  /** Changes settings of the handle for one write, and returns those to restore afterwards. */
  function change(mode: ChangingMode): readonly string[] {
    return settingsFor(mode, owned).map(([name, value]) => {
      const before = db.pragma(name, { simple: true })
      db.pragma(`${name} = ${value}`)
      return `${name} = ${before}`
    })
  }

  /** Aborted when the store is closed. */
  function closed(): AbortSignal {
    closing ??= new AbortController()
    return closing.signal
  }

  async function inspect(signal?: AbortSignal) {
    const signals = [closed(), ...(signal ? [signal] : [])]
    // Loaded lazily: only `verify` needs it.
    const { inspect: inspectFile } = await import('./inspect.ts')
    return inspectFile(db, { owned, signal: AbortSignal.any(signals) })
  }

  /** Calls that wait for a pass share it: a pass that has not begun will see their deletions too. */
  function removeTraces(): Promise<readonly Remnant[]> {
    nextPass ??= pass.then(async () => {
      nextPass = undefined
      // Loaded lazily: only deletions need it.
      return (await import('./remove-traces.ts')).removeTraces(db, { owned, signal: closed() })
    })
    pass = nextPass
    return nextPass
  }

  async function compact() {
    return (await import('./remove-traces.ts')).compactFile(db, { owned, signal: closed() })
  }

  async function close(): Promise<void> {
    if (!group) return
    closing?.abort(closedError())
    finishReads()
    // Without a write that waits, the handle is closed when this returns.
    const waiting = group.end()
    if (waiting) await waiting
    // The thread's handle would be the last one, and the log would stay.
    const copying = log?.copying()
    if (copying) await copying
    if (thread?.isOpen()) await thread.close()
    const syncing = disk!.pending()
    if (syncing) await syncing
    // The last handle copies the log into the file.
    if (!disk!.mayCopy()) await disk!.mayCopyNow()
    if (db.open) db.close()
    disk!.close()
  }
}

/** Modes that change settings of the handle. */
type ChangingMode = Exclude<WriteMode, 'durable' | 'large'>

function isDurable(mode: WriteMode): mode is 'durable' | 'large' {
  return mode === 'durable' || mode === 'large'
}

/** Whether the answer waits until the transaction is on the disk. */
function waitsForDisk(mode: WriteMode): boolean {
  return mode !== 'relaxed' && mode !== 'bulk' && mode !== 'removingSome'
}

const relaxed = ['synchronous', 'NORMAL'] as const
const zeroing = ['secure_delete', 'ON'] as const

/** Our own handle overwrites deleted rows in every write. On a borrowed one, the commit of a deletion waits
 *  for the disk if its owner wants that. */
function settingsFor(mode: ChangingMode, owned: boolean) {
  if (mode === 'relaxed' || mode === 'bulk') return [relaxed]
  if (!owned) return [zeroing]
  return mode === 'removingSome' ? [relaxed] : []
}

/** The file of a handle, or null in memory. */
export function fileOf(db: Database): string | null {
  return db.memory ? null : db.name
}

/** Fast path: without contention, run synchronously and allocate no promise. */
function atOnce<T>(work: () => T, mayRetry: () => boolean, file: string | null): T | Promise<T> {
  try {
    return work()
  } catch (error) {
    if (!isBusy(error) || !mayRetry()) throw translate(error, file)
  }
  return retryWhileBusy(work, mayRetry).catch(error => {
    throw translate(error, file)
  })
}

/** Runs a statement without parameters, which is prepared when it is first needed. */
function runner(db: Database, sql: string): () => void {
  let statement: Statement | undefined
  const run = () => {
    statement ??= db.prepare(sql)
    statement.run()
    return none
  }
  return () => void (statementChannel.hasSubscribers ? traced(sql, run) : run())
}

interface Prepared {
  readonly statement: Statement
  readonly names: readonly string[]
  readonly isReader: boolean
}

const nothing: readonly unknown[] = []
const none: StatementResult = { rows: nothing, changes: 0 }

/** Runs statement calls on a handle. Each statement is prepared once: preparing it every time doubles the
 *  cost of an append. */
function caller(db: Database): (call: StatementCall) => StatementResult {
  const prepared = new Map<string, readonly Prepared[]>()

  return call => (statementChannel.hasSubscribers ? traced(call.name, () => perform(call)) : perform(call))

  function perform(call: StatementCall): StatementResult {
    let answer = none
    for (const { statement, names, isReader } of prepare(call)) {
      const values = valuesOf(names, call.params)
      answer = isReader
        ? { rows: statement.all(...values), changes: 0 }
        : { rows: nothing, changes: statement.run(...values).changes }
    }
    return answer
  }

  function prepare(call: StatementCall): readonly Prepared[] {
    const key = textKey(call)
    const known = prepared.get(key)
    if (known) return known
    const made = compileTexts(call).map(({ sql, names }) => {
      // A borrowed handle may be set to return BigInts.
      const statement = db.prepare(sql).safeIntegers(false)
      return { statement, names, isReader: statement.reader }
    })
    prepared.set(key, made)
    return made
  }
}

/** Runs a statement and publishes how long it took. */
function traced(name: string, run: () => StatementResult): StatementResult {
  const start = performance.now()
  const trace = { engine: 'sqlite', statements: [name] } as const
  try {
    const result = run()
    const rows = result.rows.length + result.changes
    statementChannel.publish({ ...trace, rows, ms: performance.now() - start })
    return result
  } catch (error) {
    statementChannel.publish({ ...trace, rows: 0, ms: performance.now() - start, error })
    throw error
  }
}
