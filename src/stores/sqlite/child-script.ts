import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { basename } from 'node:path'

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
  let child: ChildProcess
  try {
    child = spawn(process.execPath, ['-e', script, driver, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
      windowsHide: true,
    })
  } catch {
    // Node was started without the permission.
    return null
  }
  const stop = () => child.kill('SIGKILL')
  signal.addEventListener('abort', stop)
  if (isIdle) {
    child.unref()
    ;(child.stdout as Socket).unref()
    process.on('exit', stop)
  }
  try {
    const output = await outputOf(child)
    signal.throwIfAborted()
    return output
  } finally {
    signal.removeEventListener('abort', stop)
    process.off('exit', stop)
  }
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
