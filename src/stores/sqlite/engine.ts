import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import type { Source } from '../../core/source.ts'
import type { Engine, Program } from '../engine.ts'
import { isBusy, translate } from './errors.ts'
import { matchText } from './match.ts'
import { caller, runToEnd } from './statements.ts'

/** How long a writer waits for another process before it gives up. */
const patienceMs = 5_000

/** Writes between two checkpoints. Left to itself, SQLite checkpoints inside some unlucky append. */
const writesPerCheckpoint = 50

export interface SqliteEngineOptions {
  readonly source: Source
  /** Whether closing the engine closes the handle, and checkpoints are ours to make. */
  readonly owned: boolean
}

/** Transactions on one handle. A program runs from begin to commit without giving way, so nothing else of
 *  this process can come between. */
export function sqliteEngine(db: Database, { source, owned }: SqliteEngineOptions): Engine {
  const call = caller(db)
  const begin = lazily(() => db.prepare('BEGIN'))
  const beginImmediate = lazily(() => db.prepare('BEGIN IMMEDIATE'))
  const commit = lazily(() => db.prepare('COMMIT'))
  let writes = 0
  let checkpointing = false

  return { source, query, read, write, matchText, close }

  async function query<T>(program: () => Program<T>): Promise<T> {
    return translated(() => runToEnd(program(), call))
  }

  async function read<T>(program: () => Program<T>): Promise<T> {
    return translated(() => {
      if (db.inTransaction) return runToEnd(program(), call)
      begin().run()
      return finish(program)
    })
  }

  async function write<T>(program: () => Program<T>, durability = 'durable'): Promise<T> {
    // Inside a transaction of whoever lent us the handle: all or nothing within theirs.
    if (db.inTransaction) return translated(() => nested(program))
    const relaxed = durability === 'relaxed'
    const given = relaxed ? relax() : undefined
    try {
      const deadline = performance.now() + patienceMs
      for (let tries = 0; !translated(() => tryToBegin(deadline)); tries++) await giveWay(tries)
      return translated(() => finish(program))
    } finally {
      if (given !== undefined && db.open) db.pragma(`synchronous = ${given}`)
      if (owned && ++writes % writesPerCheckpoint === 0) checkpointSoon()
    }
  }

  /** Taking the write lock before reading the head is what keeps two processes from both seeing the
   *  old one. */
  function tryToBegin(deadline: number): boolean {
    try {
      beginImmediate().run()
      return true
    } catch (error) {
      if (isBusy(error) && performance.now() < deadline) return false
      throw error
    }
  }

  function finish<T>(program: () => Program<T>): T {
    try {
      const result = runToEnd(program(), call)
      commit().run()
      return result
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  function nested<T>(program: () => Program<T>): T {
    db.exec('SAVEPOINT skein')
    try {
      const result = runToEnd(program(), call)
      db.exec('RELEASE skein')
      return result
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK TO skein; RELEASE skein')
      throw error
    }
  }

  /** Commits without waiting for the disk until the returned setting is put back. */
  function relax(): unknown {
    return translated(() => {
      const before = db.pragma('synchronous', { simple: true })
      db.pragma('synchronous = NORMAL')
      return before
    })
  }

  /** After the caller has its answer, on the same connection: nobody's append waits for it. */
  function checkpointSoon(): void {
    if (checkpointing) return
    checkpointing = true
    setImmediate(() => {
      checkpointing = false
      if (db.open && !db.inTransaction) db.pragma('wal_checkpoint(PASSIVE)')
    })
  }

  async function close(): Promise<void> {
    if (owned && db.open) db.close()
  }
}

/** SQLite's own way of waiting starves writers (the slowest of four got next to nothing); pauses of random
 *  length share fairly. Short ones block, as a timer cannot be shorter than a millisecond. */
async function giveWay(tries: number): Promise<void> {
  const ms = 0.1 + Math.random() * 1.5
  if (tries % 8 < 7) Atomics.wait(sleeper, 0, 0, ms)
  else await pause(1)
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw translate(error)
  }
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
