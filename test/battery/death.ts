import { createRequire } from 'node:module'
import BetterSqlite3, { type Database } from 'better-sqlite3'

/** Where a process dies, in the n-th transaction (SQLite) or round trip (PostgreSQL) after it is armed. */
export type Point = SqlitePoint | PostgresPoint

export const sqlitePoints = ['before begin', 'in the middle', 'before commit', 'after commit'] as const
export type SqlitePoint = (typeof sqlitePoints)[number]

/** A message that was sent may or may not arrive: the outcome cannot be predicted. */
export const postgresPoints = ['before it is sent', 'after it was sent', 'after it was answered'] as const
export type PostgresPoint = (typeof postgresPoints)[number]

/** A scheduled death. */
export interface Death {
  /** Transactions are counted from here on. */
  arm(): void
  /** The number of transactions so far. */
  count(): number
}

/** Makes this process kill itself with SIGKILL at a point of its n-th transaction, below all of our code:
 *  call it before a store is opened. With `careless`, the negative control, SQLite uses no transactions at
 *  all. */
export function prepareDeath(point: Point | 'never', n: number, options: { careless?: boolean } = {}): Death {
  let armed = false
  let count = 0
  const begin = () => {
    if (armed) count++
  }
  const reach = (at: Point) => {
    if (armed && at === point && count === n) process.kill(process.pid, 'SIGKILL')
  }
  let inside = false
  watchSqlite((sql, run) => {
    if (/^BEGIN IMMEDIATE/.test(sql)) {
      begin()
      reach('before begin')
      const answer = armed && options.careless ? undefined : run()
      inside = true
      return answer
    }
    if (/^COMMIT/.test(sql) && inside) {
      reach('before commit')
      const answer = armed && options.careless ? undefined : run()
      inside = false
      reach('after commit')
      return answer
    }
    const answer = run()
    // Only a statement that has written leaves something in the middle.
    if (inside && /^\s*(INSERT|UPDATE|DELETE|CREATE|WITH)/i.test(sql)) reach('in the middle')
    return answer
  })
  watchPostgres(begin, reach)
  return {
    arm: () => {
      armed = true
    },
    count: () => count,
  }
}

/** Wraps every statement of every handle in `around`. */
function watchSqlite(around: (sql: string, run: () => unknown) => unknown): void {
  const { prepare, exec } = BetterSqlite3.prototype
  BetterSqlite3.prototype.prepare = function (this: Database, sql: string) {
    const statement = prepare.call(this, sql)
    for (const method of ['run', 'all', 'get'] as const) {
      const original = statement[method].bind(statement) as (...values: unknown[]) => unknown
      statement[method] = ((...values: unknown[]) => around(sql, () => original(...values))) as never
    }
    return statement
  } as typeof prepare
  BetterSqlite3.prototype.exec = function (this: Database, sql: string) {
    around(sql, () => exec.call(this, sql))
    return this
  }
}

interface Wire {
  sync(): void
  query(text: string): void
  emit(event: string, ...args: unknown[]): boolean
}

/** Every round trip of pg ends with one of two messages and gets one reply. */
function watchPostgres(begin: () => void, reach: (at: PostgresPoint) => void): void {
  const Connection = createRequire(import.meta.url)('pg/lib/connection.js') as { prototype: Wire }
  const wire = Connection.prototype
  const { sync, query, emit } = wire
  wire.sync = function () {
    begin()
    reach('before it is sent')
    sync.call(this)
    // Held back until the batch is complete.
    process.nextTick(reach, 'after it was sent')
  }
  wire.query = function (text) {
    begin()
    reach('before it is sent')
    query.call(this, text)
    reach('after it was sent')
  }
  wire.emit = function (event, ...args) {
    if (event === 'readyForQuery') reach('after it was answered')
    return emit.call(this, event, ...args)
  }
}
