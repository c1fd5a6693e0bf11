import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import type { StatementResult } from '../engine/engine.ts'

/** A thread for work that blocks its caller: copying the log into the file, the transactions of long work,
 *  and starting a process. */

/** The thread ends when it had nothing to do for so long. A service with a few writes a second needs it every
 *  10 to 30 s: starting it each time would cost 40 ms of processor time, and its memory would come and go. */
const idleMs = 60_000

/** Plain text, so that it runs from the source, the package and the bundled command alike. A second pass over
 *  the log copies what was written during the first, so that little is left for the writer. */
const script = `
  const { parentPort, workerData } = require('node:worker_threads')
  const Database = require(workerData.driver)
  const { addon } = workerData
  const open = file =>
    new Database(file, { fileMustExist: true, timeout: 0, ...(addon && { nativeBinding: addon }) })
  const copyLog = ({ file, isWhole }) => {
    const db = open(file)
    try {
      if (process.platform === 'darwin') db.pragma('fullfsync = ON')
      const [{ busy, checkpointed }] = db.pragma('wal_checkpoint(PASSIVE)')
      const [{ log }] = db.pragma('wal_checkpoint(NOOP)')
      if (busy === 0 && log - checkpointed > 200) db.pragma('wal_checkpoint(PASSIVE)')
      if (isWhole) restartLog(db)
    } finally {
      db.close()
    }
  }
  // The first commit after a complete checkpoint starts the log again, and syncs its header.
  const restartLog = db => {
    const [{ busy, log, checkpointed }] = db.pragma('wal_checkpoint(FULL)')
    if (busy !== 0 || checkpointed < log) return
    db.pragma('synchronous = NORMAL')
    db.transaction(() => {
      db.pragma('user_version = ' + db.pragma('user_version', { simple: true }))
    }).immediate()
  }
  const writers = new Map()
  const writerOf = ({ writer, file, settings }) => {
    const known = writers.get(writer)
    if (known) return known
    const made = { db: open(file), prepared: new Map() }
    try {
      made.db.exec(settings)
    } catch (error) {
      made.db.close()
      throw error
    }
    writers.set(writer, made)
    return made
  }
  const kept = new Map()
  // At once: V8 would collect all garbage of the thread several times for a large value.
  const free = bytes => bytes.buffer.transfer(0)
  const keep = ({ kept: number, size, at, bytes }) => {
    if (at === 0) kept.set(number, new Uint8Array(size))
    kept.get(number).set(bytes, at)
    free(bytes)
  }
  const valueOf = value => (typeof value?.kept === 'number' ? kept.get(value.kept) : value)
  const forget = number => {
    if (kept.has(number)) free(kept.get(number))
    kept.delete(number)
  }
  const run = ({ db, prepared }, { sql, values }) => {
    let statement = prepared.get(sql)
    if (!statement) prepared.set(sql, (statement = db.prepare(sql)))
    const bound = values.map(valueOf)
    if (statement.reader) return { rows: statement.all(...bound), changes: 0 }
    return { rows: [], changes: statement.run(...bound).changes }
  }
  const transact = work => {
    const writer = writerOf(work)
    const { db } = writer
    try {
      if (work.synchronous !== undefined) {
        db.pragma('synchronous = ' + work.synchronous)
        db.exec('BEGIN IMMEDIATE')
      }
      const results = work.statements.map(one => run(writer, one))
      if (work.end) db.exec(work.end)
      return { results }
    } catch ({ message, code }) {
      if (db.inTransaction) db.exec('ROLLBACK')
      return { error: { message, code: String(code) } }
    }
  }
  const release = ({ writer }) => {
    const known = writers.get(writer)
    writers.delete(writer)
    if (known) known.db.close()
  }
  const start = (id, { command, args, env }) => {
    const options = { env, stdio: ['ignore', 'pipe', 'ignore'], windowsHide: true }
    const child = require('node:child_process').spawn(command, args, options)
    child.stdout.setEncoding('utf8').on('data', text => parentPort.postMessage({ id, text }))
    child.on('error', () => parentPort.postMessage({ id, isDone: false }))
    child.on('close', code => parentPort.postMessage({ id, isDone: code === 0 }))
    parentPort.postMessage({ id, pid: child.pid })
  }
  const works = { copy: copyLog, transact, release }
  parentPort.on('message', ({ id, kind, work }) => {
    try {
      if (kind === 'keep') keep(work)
      else if (kind === 'forget') forget(work.kept)
      else if (kind === 'start') start(id, work)
      else parentPort.postMessage({ id, isDone: true, result: works[kind](work) })
    } catch {
      parentPort.postMessage({ id, isDone: false })
    }
  })
  parentPort.postMessage({ id: 0 })`

/** A file whose log is copied. */
interface CopyLog {
  readonly file: string
  /** Whether the thread also copies the last pages, and starts the log again. Other writers wait for it. */
  readonly isWhole: boolean
}

/** A program to run in a process of its own. */
interface StartProcess {
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/** A statement of it, with its values. */
export interface StatementOfPart {
  readonly sql: string
  readonly values: readonly unknown[]
}

/** A value that the thread has got in pieces, and keeps until it is told to forget it. */
export interface KeptValue {
  readonly kept: number
}

/** A piece of such a value. */
interface ValuePiece extends KeptValue {
  /** The bytes of the whole value. */
  readonly size: number
  readonly at: number
  readonly bytes: Uint8Array
}

/** A part of a transaction on the thread's own handle for a writer. */
export interface TransactionPart {
  readonly writer: number
  readonly file: string
  /** The settings of a new handle. */
  readonly settings: string
  /** How the transaction waits for the disk. Only its first part has it. */
  readonly synchronous?: number
  readonly statements: readonly StatementOfPart[]
  /** Only the last part has it. */
  readonly end?: 'COMMIT' | 'ROLLBACK'
}

/** The results of its statements, or why the transaction was rolled back. */
export type PartAnswer =
  | { readonly results: readonly StatementResult[]; readonly error?: undefined }
  | { readonly error: { readonly message: string; readonly code: string } }

/** Work for the thread, and its answer: a file whose log is copied, a program, a part of a transaction, or
 *  the end of a writer. */
interface ThreadWork {
  readonly copy: [CopyLog, string]
  readonly start: [StartProcess, string]
  readonly transact: [TransactionPart, PartAnswer]
  readonly release: [{ readonly writer: number }, string]
}

interface Answer {
  readonly id: number
  /** The process that has been started; its output follows. */
  readonly pid?: number
  /** A piece of its output. The thread keeps none of it: its heap is small. */
  readonly text?: string
  /** The work has ended: well or not. */
  readonly isDone?: boolean
  /** The result of work other than a process. */
  readonly result?: unknown
}

interface AskOptions {
  /** Whether this process may end before the work is done. */
  readonly isIdle: boolean
  /** Called with the process that was started for the work. */
  readonly onStart?: (pid: number) => void
}

interface Waiting extends AskOptions {
  /** What has arrived so far of the output of a process. */
  output: string
  resolve(result: unknown): void
}

interface Thread {
  isReady(): boolean
  keep(piece: ValuePiece): void
  forget(value: KeptValue): void
  ask(kind: keyof ThreadWork, work: object, options: AskOptions): Promise<unknown>
}

let current: Thread | undefined

/** Starts the thread if there is none. Returns whether there can be one: not under Node's permissions. */
export function startThread(): boolean {
  try {
    current ??= newThread(() => {
      current = undefined
    })
    return true
  } catch {
    return false
  }
}

/** Whether the thread has been started and begins with its work at once. */
export function isThreadReady(): boolean {
  return current?.isReady() ?? false
}

/** Has work done by the thread. Returns its answer, or null if it failed or there is no thread. */
export async function askThread<Kind extends keyof ThreadWork>(
  kind: Kind,
  work: ThreadWork[Kind][0],
  options: AskOptions,
): Promise<ThreadWork[Kind][1] | null> {
  return startThread() ? (current!.ask(kind, work, options) as Promise<ThreadWork[Kind][1] | null>) : null
}

/** Sends a piece of a value, which has no answer. Its bytes must have a buffer of their own, which is
 *  moved. */
export function keepInThread(piece: ValuePiece): void {
  current?.keep(piece)
}

/** Frees the memory of a value. */
export function forgetInThread(value: KeptValue): void {
  current?.forget(value)
}

function newThread(ended: () => void): Thread {
  const worker = new Worker(script, {
    eval: true,
    workerData: driverOfThread(),
    execArgv: [],
    // 5 MB are in use, and the largest batch of the search index needs 2 more. Garbage of former work is
    // collected when the heap is full: in one of 16 MB that is after hours, and the process would seem to
    // leak. If it is ever too small, the thread ends, and its work is done without one.
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  })
  const waiting = new Map<number, Waiting>()
  let asked = 0
  let isReady = false
  const idle = setTimeout(endIfIdle, idleMs)
  idle.unref()
  worker.on('message', ({ id, pid, text, isDone, result }: Answer) => {
    isReady = true
    const one = waiting.get(id)
    if (pid !== undefined) one?.onStart?.(pid)
    if (text !== undefined && one) one.output += text
    if (isDone === undefined) return
    waiting.delete(id)
    keepAlive()
    one?.resolve(isDone ? (result ?? one.output) : null)
  })
  // The exit follows.
  worker.on('error', () => undefined)
  worker.on('exit', () => {
    clearTimeout(idle)
    ended()
    for (const { resolve } of waiting.values()) resolve(null)
  })
  // Only now: a listener for messages keeps the process alive.
  worker.unref()
  return {
    isReady: () => isReady,
    keep: work => worker.postMessage({ id: 0, kind: 'keep', work }, [work.bytes.buffer as ArrayBuffer]),
    forget: work => worker.postMessage({ id: 0, kind: 'forget', work }),
    ask: (kind, work, options) =>
      new Promise(resolve => {
        waiting.set(++asked, { ...options, output: '', resolve })
        keepAlive()
        worker.postMessage({ id: asked, kind, work })
      }),
  }

  function keepAlive(): void {
    idle.refresh()
    if ([...waiting.values()].every(({ isIdle }) => isIdle)) worker.unref()
    else worker.ref()
  }

  function endIfIdle(): void {
    if (waiting.size > 0) {
      idle.refresh()
      return
    }
    ended()
    void worker.terminate()
  }
}

/** One library of SQLite has to do all work of a process on a file: the locks of two would not see each
 *  other. A bundle names the addon that it has loaded. */
function driverOfThread(): { readonly driver: string; readonly addon: string | undefined } {
  const { addon } = BetterSqlite3 as { readonly addon?: string }
  return { driver: createRequire(import.meta.url).resolve('better-sqlite3'), addon }
}
