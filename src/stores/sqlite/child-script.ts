import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { basename } from 'node:path'

/** Memory of this process above which a thread starts the other one: the system copies the tables of this
 *  memory meanwhile, which blocks for 30 ms per gigabyte, and longer on a busy machine. */
const largeBytes = 128 * 1024 * 1024

export interface ChildOptions {
  /** Whether this process may end before the other one, which ends with it then. */
  readonly isIdle?: boolean
}

/** Runs a program in a process of its own, for work that SQLite cannot interrupt: this process stays
 *  responsive. A thread could not be stopped: Node waits for it before it exits. The program is plain text,
 *  so that it runs from the source, the package and the bundled command alike. Its arguments are the path of
 *  better-sqlite3 and `args`. Returns its output, or null if it cannot run or fails. When the signal is
 *  aborted, kills the process and throws the signal's reason. */
export async function runChildScript(
  script: string,
  args: readonly string[],
  { signal, isIdle = false }: ChildOptions & { readonly signal: AbortSignal },
): Promise<string | null> {
  signal.throwIfAborted()
  // In another program (Electron, a single executable) the path would start that program again.
  if (!/^node/i.test(basename(process.execPath))) return null
  const { NODE_OPTIONS: _, ...env } = process.env
  const driver = createRequire(import.meta.url).resolve('better-sqlite3')
  const program = { command: process.execPath, args: ['-e', script, driver, ...args], env }
  const child = stoppable(signal, isIdle)
  try {
    const isLarge = process.memoryUsage.rss() > largeBytes
    const output = await (isLarge ? startElsewhere(program, child) : startHere(program, child))
    signal.throwIfAborted()
    return output
  } finally {
    child.forget()
  }
}

interface ChildProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/** A process that ends when a signal is aborted; if it is idle work, also with this process. */
interface Stoppable {
  readonly isIdle: boolean
  /** To be called once the process has started. */
  started(pid: number | undefined): void
  forget(): void
}

function stoppable(signal: AbortSignal, isIdle: boolean): Stoppable {
  let running: number | undefined
  const stop = () => {
    if (running === undefined) return
    try {
      process.kill(running, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
  signal.addEventListener('abort', stop)
  if (isIdle) process.on('exit', stop)
  return {
    isIdle,
    started(pid) {
      running = pid
      if (signal.aborted) stop()
    },
    forget() {
      running = undefined
      signal.removeEventListener('abort', stop)
      process.off('exit', stop)
    },
  }
}

async function startElsewhere(program: ChildProgram, { isIdle, started }: Stoppable): Promise<string | null> {
  const { askThread } = await import('./blocking-work-thread.ts')
  return askThread('start', program, { isIdle, onStart: started })
}

async function startHere({ command, args, env }: ChildProgram, owner: Stoppable): Promise<string | null> {
  let child: ChildProcess
  try {
    child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'ignore'], windowsHide: true })
  } catch {
    // Node was started without the permission.
    return null
  }
  if (owner.isIdle) {
    child.unref()
    ;(child.stdout as Socket).unref()
  }
  owner.started(child.pid)
  return outputOf(child)
}

/** What a process writes, or null if it fails. */
function outputOf(child: ChildProcess): Promise<string | null> {
  return new Promise(resolve => {
    let output = ''
    child.stdout!.setEncoding('utf8').on('data', text => {
      output += text
    })
    child.on('error', () => resolve(null))
    child.on('close', code => resolve(code === 0 ? output : null))
  })
}
