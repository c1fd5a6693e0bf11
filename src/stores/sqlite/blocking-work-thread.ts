import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'

/** A thread for work that blocks its caller: copying the log into the file, and starting a process. */

/** The thread ends when it had nothing to do for so long. A service with a few writes a second needs it every
 *  10 to 30 s: starting it each time would cost 40 ms of processor time, and its memory would come and go. */
const idleMs = 60_000

/** Plain text, so that it runs from the source, the package and the bundled command alike. A second pass over
 *  the log copies what was written during the first, so that little is left for the writer. */
const script = `
  const { parentPort, workerData } = require('node:worker_threads')
  const Database = require(workerData.driver)
  const { addon } = workerData
  const copyLog = file => {
    const options = { fileMustExist: true, timeout: 0, ...(addon && { nativeBinding: addon }) }
    const db = new Database(file, options)
    try {
      if (process.platform === 'darwin') db.pragma('fullfsync = ON')
      const [{ busy, checkpointed }] = db.pragma('wal_checkpoint(PASSIVE)')
      const [{ log }] = db.pragma('wal_checkpoint(NOOP)')
      if (busy === 0 && log - checkpointed > 200) db.pragma('wal_checkpoint(PASSIVE)')
    } finally {
      db.close()
    }
  }
  const start = (id, { command, args, env }) => {
    const options = { env, stdio: ['ignore', 'pipe', 'ignore'], windowsHide: true }
    const child = require('node:child_process').spawn(command, args, options)
    child.stdout.setEncoding('utf8').on('data', text => parentPort.postMessage({ id, text }))
    child.on('error', () => parentPort.postMessage({ id, isDone: false }))
    child.on('close', code => parentPort.postMessage({ id, isDone: code === 0 }))
    parentPort.postMessage({ id, pid: child.pid })
  }
  parentPort.on('message', ({ id, work }) => {
    try {
      if (work.command !== undefined) return start(id, work)
      copyLog(work.file)
      parentPort.postMessage({ id, isDone: true })
    } catch {
      parentPort.postMessage({ id, isDone: false })
    }
  })
  parentPort.postMessage({ id: 0 })`

/** Work for the thread: a file whose log is copied, or a program to run in a process of its own. */
export type ThreadWork =
  | { readonly file: string }
  | {
      readonly command: string
      readonly args: readonly string[]
      readonly env: NodeJS.ProcessEnv
    }

interface Answer {
  readonly id: number
  /** The process that has been started; its output follows. */
  readonly pid?: number
  /** A piece of its output. The thread keeps none of it: its heap is small. */
  readonly text?: string
  /** The work has ended: well or not. */
  readonly isDone?: boolean
}

interface AskOptions {
  /** Whether this process may end before the work is done. */
  readonly isIdle: boolean
  /** Called with the process that was started for the work. */
  readonly onStart?: (pid: number) => void
}

interface Waiting extends AskOptions {
  /** What has arrived so far. */
  output: string
  resolve(output: string | null): void
}

interface Thread {
  isReady(): boolean
  ask(work: ThreadWork, options: AskOptions): Promise<string | null>
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

/** Has work done by the thread. Returns its output, or null if it failed or there is no thread. */
export async function askThread(work: ThreadWork, options: AskOptions): Promise<string | null> {
  return startThread() ? current!.ask(work, options) : null
}

function newThread(ended: () => void): Thread {
  const worker = new Worker(script, {
    eval: true,
    workerData: driverOfThread(),
    execArgv: [],
    // A copy leaves 4 kB of garbage. In a heap of 32 MB it would be collected after 5,000 copies, which is
    // hours, and the process would seem to leak.
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  })
  const waiting = new Map<number, Waiting>()
  let asked = 0
  let isReady = false
  const idle = setTimeout(endIfIdle, idleMs)
  idle.unref()
  worker.unref()
  worker.on('message', ({ id, pid, text, isDone }: Answer) => {
    isReady = true
    const one = waiting.get(id)
    if (pid !== undefined) one?.onStart?.(pid)
    if (text !== undefined && one) one.output += text
    if (isDone === undefined) return
    waiting.delete(id)
    keepAlive()
    one?.resolve(isDone ? one.output : null)
  })
  // The exit follows.
  worker.on('error', () => undefined)
  worker.on('exit', () => {
    clearTimeout(idle)
    ended()
    for (const { resolve } of waiting.values()) resolve(null)
  })
  return {
    isReady: () => isReady,
    ask: (work, options) =>
      new Promise(resolve => {
        waiting.set(++asked, { ...options, output: '', resolve })
        keepAlive()
        worker.postMessage({ id: asked, work })
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
