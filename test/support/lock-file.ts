import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'

/** A write lock on a SQLite file, held by another process. */
export interface FileLock extends Disposable {
  /** The process that holds the lock. */
  readonly pid: number
  release(): Promise<void>
}

/** Locks a SQLite file for writing, as a stuck program would, until it is released or disposed of. */
export async function lockFile(file: string): Promise<FileLock> {
  const driver = createRequire(import.meta.url).resolve('better-sqlite3')
  const script = `
    const db = new (require(${JSON.stringify(driver)}))(${JSON.stringify(file)}, { timeout: 20000 })
    db.exec('BEGIN IMMEDIATE')
    console.log('locked')
    process.stdin.once('data', () => { db.exec('COMMIT'); process.exit() })
    process.stdin.once('end', () => process.exit())`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return {
    pid: child.pid!,
    async release() {
      const gone = once(child, 'exit')
      child.stdin.write('release\n')
      await gone
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
