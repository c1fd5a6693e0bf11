import type { Database, Statement } from 'better-sqlite3'
import type { Source } from '../../core/source.ts'
import type { Engine, Program, StatementCall, StatementResult, TokenMatch } from '../engine/engine.ts'
import type { ListParams } from '../engine/list-params.ts'
import { isBusy, translate } from './errors.ts'
import { queries } from './queries/index.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

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

  return { source, query, read, write, matchText, inspect, close }

  async function query<T>(program: () => Program<T>): Promise<T> {
    return atOnce(() => runToEnd(program(), call), isOurs)
  }

  /** A reader waits for nobody, but for a process that has just opened the file after a crash, or that is
   *  the last to close it. */
  async function read<T>(program: () => Program<T>): Promise<T> {
    return atOnce(() => {
      if (isTheirs()) return runToEnd(program(), call)
      begin().run()
      return finish(program)
    }, isOurs)
  }

  /** Whether no transaction of whoever lent us the handle is open: that one would wait in vain. */
  function isOurs(): boolean {
    return !db.inTransaction
  }

  /** Whether we are inside one of theirs. Where the handle is our own, there is nobody to ask. */
  function isTheirs(): boolean {
    return !owned && db.inTransaction
  }

  async function write<T>(program: () => Program<T>, durability = 'durable'): Promise<T> {
    let begun = false
    try {
      return await atOnce(attempt, () => !begun)
    } finally {
      if (owned && ++writes % writesPerCheckpoint === 0) checkpointSoon()
    }

    /** Nothing gives way in here: a setting that is changed for one write must not meet another. */
    function attempt(): T {
      // Inside a transaction of whoever lent us the handle: all or nothing within theirs.
      if (isTheirs()) {
        begun = true
        return nested(program)
      }
      const given = durability === 'relaxed' ? relax() : undefined
      try {
        // Taking the write lock before reading the head is what keeps two processes from both seeing
        // the old one.
        beginImmediate().run()
        begun = true
        return finish(program)
      } finally {
        if (given !== undefined) db.pragma(`synchronous = ${given}`)
      }
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
    const before = db.pragma('synchronous', { simple: true })
    db.pragma('synchronous = NORMAL')
    return before
  }

  /** After the caller has its answer, on the same connection: nobody's append waits for it. */
  function checkpointSoon(): void {
    if (checkpointing) return
    checkpointing = true
    setImmediate(() => {
      checkpointing = false
      if (!db.open || db.inTransaction) return
      try {
        db.pragma('wal_checkpoint(PASSIVE)')
      } catch {
        // Nobody waits for it: a full or unwritable disk is the next write's to report.
      }
    })
  }

  async function inspect() {
    // Nobody who only talks needs it.
    return (await import('./inspect.ts')).inspect(db)
  }

  async function close(): Promise<void> {
    if (owned && db.open) db.close()
  }
}

/** Mostly nobody is in the way, and then there is nothing to wait for: not even for a promise of our own. */
function atOnce<T>(work: () => T, mayRetry: () => boolean): T | Promise<T> {
  try {
    return work()
  } catch (error) {
    if (!isBusy(error) || !mayRetry()) throw translate(error)
  }
  return retryWhileBusy(work, mayRetry).catch(error => {
    throw translate(error)
  })
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** A match in the language of FTS5. Tokens hold no quotes, so quoting them is enough. */
export function matchText({ all, prefixes, any, none }: TokenMatch): string {
  const wanted = [...all.map(quote), ...prefixes.map(prefix => `${quote(prefix)}*`)]
  if (any.length > 0) wanted.push(`(${any.map(quote).join(' OR ')})`)
  const unwanted = none.map(token => ` NOT ${quote(token)}`).join('')
  return `(${wanted.join(' AND ')})${unwanted}`
}

function quote(token: string): string {
  return `"${token}"`
}

interface Prepared {
  readonly statement: Statement
  readonly names: readonly string[]
  readonly isReader: boolean
}

const nothing: readonly unknown[] = []
const none: StatementResult = { rows: nothing, changes: 0 }

/** Runs calls on a handle. Each statement is prepared once: not doing so doubles the cost of an append. */
function caller(db: Database): (call: StatementCall) => StatementResult {
  const prepared = new Map<string, readonly Prepared[]>()

  return call => {
    const params = call.params as Record<string, unknown>
    let answer = none
    for (const { statement, names, isReader } of prepare(call)) {
      const values = names.map(name => bindable(params[name]))
      answer = isReader
        ? { rows: statement.all(...values), changes: 0 }
        : { rows: nothing, changes: statement.run(...values).changes }
    }
    return answer
  }

  function prepare({ name, params }: StatementCall): readonly Prepared[] {
    const text = queries[name]
    const filters = typeof text === 'function' ? (params as ListParams).filters : []
    const key = filters.length > 0 ? `${name} ${filters.join(' ')}` : name
    const known = prepared.get(key)
    if (known) return known
    const texts = typeof text === 'function' ? [text(filters)] : typeof text === 'string' ? [text] : text
    const made = texts.map(one => {
      const { sql, names } = compileQuery(one, () => '?')
      // A handle that was lent to us may give BigInts for its owner.
      const statement = db.prepare(sql).safeIntegers(false)
      return { statement, names, isReader: statement.reader }
    })
    prepared.set(key, made)
    return made
  }
}

/** Lists go in as JSON, for `json_each`. */
function bindable(value: unknown): unknown {
  return Array.isArray(value) ? JSON.stringify(value) : value
}

/** Runs a program to its end, statement by statement. */
function runToEnd<T>(program: Program<T>, call: (call: StatementCall) => StatementResult): T {
  let step = program.next()
  while (!step.done) step = program.next(call(step.value))
  return step.value
}

/** A text with its parameters in the order in which the engine wants them. */
export interface CompiledQuery {
  readonly sql: string
  readonly names: readonly string[]
}

/** Replaces each `@name` by what `mark` gives for the position; a name that recurs is a new position. */
export function compileQuery(text: string, mark: (position: number) => string): CompiledQuery {
  const names: string[] = []
  // An `@` that follows one, or that no letter follows, is an operator.
  const sql = text.replace(/(?<!@)@([a-z_]+)/g, (_, name: string) => mark(names.push(name)))
  return { sql, names }
}
