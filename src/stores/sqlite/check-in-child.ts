import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { basename } from 'node:path'

/** The answer to one query: its rows, or its error. */
export interface QueryAnswer {
  readonly rows: readonly Record<string, unknown>[]
  readonly error?: { readonly message: string; readonly code: string }
}

/** Plain text, so that it runs from the source, the package and the bundled command alike. */
const script = `
  const [driver, file, ...queries] = process.argv.slice(1)
  const db = new (require(driver))(file, { readonly: true, fileMustExist: true })
  const answer = query => {
    try {
      return { rows: db.prepare(query).all() }
    } catch ({ message, code }) {
      return { rows: [], error: { message, code: String(code) } }
    }
  }
  process.stdout.write(JSON.stringify(queries.map(answer)))`

/** Runs queries that SQLite cannot interrupt in a process of their own, with a handle of its own, so that
 *  this one stays responsive. A thread could not be stopped: Node waits for it before it exits. Returns null
 *  if the queries cannot run there. When the signal is aborted, kills the process and throws the signal's
 *  reason. */
export async function checkInChild(
  file: string,
  queries: readonly string[],
  signal: AbortSignal,
): Promise<readonly QueryAnswer[] | null> {
  signal.throwIfAborted()
  // In another program (Electron, a single executable) the path would start that program again.
  if (!/^node/i.test(basename(process.execPath))) return null
  const { NODE_OPTIONS: _, ...env } = process.env
  const driver = createRequire(import.meta.url).resolve('better-sqlite3')
  let child: ChildProcess
  try {
    child = spawn(process.execPath, ['-e', script, driver, file, ...queries], {
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
  try {
    const output = await outputOf(child)
    signal.throwIfAborted()
    return output === null ? null : (JSON.parse(output) as QueryAnswer[])
  } finally {
    signal.removeEventListener('abort', stop)
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
