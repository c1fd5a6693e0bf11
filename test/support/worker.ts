import BetterSqlite3 from 'better-sqlite3'
import { Pool } from 'pg'
import type { Store } from '../../src/core/ports.ts'
// Loaded before `become`: afterwards the repository may be inaccessible.
import { openPostgresStore, postgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { loadMethods } from '../../src/stores/store/store-with-hub.ts'

/** A request to a worker. The answer carries the same `n`. */
export type Request = { readonly n: number } & (
  | { readonly do: 'open'; readonly target: string; readonly unlocked: boolean }
  | { readonly do: 'call'; readonly method: keyof Store; readonly args: readonly unknown[] }
  | { readonly do: 'become'; readonly uid: number }
)

export interface Reply {
  readonly n: number
  readonly value?: unknown
  readonly error?: {
    readonly name: string
    readonly code?: string
    readonly message: string
    readonly hint?: string | null
  }
}

/** A separate process with its own store, controlled by messages. It ends with its parent. */
let store: Store | undefined

process.on('message', (request: Request) => {
  answer(request).then(
    value => reply({ n: request.n, value }),
    ({ name, code, message, hint }) => reply({ n: request.n, error: { name, code, message, hint } }),
  )
})
process.on('disconnect', () => process.exit())
reply({ n: -1 })

function open(target: string): Promise<Store> {
  return target.startsWith('postgres') ? openPostgresStore(target) : openSqliteStore(target)
}

function reply(message: Reply): void {
  process.send!(message)
}

async function answer(request: Request): Promise<unknown> {
  switch (request.do) {
    case 'open':
      await store?.close()
      store = await (request.unlocked ? openUnlocked(request.target) : open(request.target))
      return null
    case 'call':
      return (store![request.method] as (...args: readonly unknown[]) => Promise<unknown>)(...request.args)
    case 'become':
      // Loads the modules that load with the first handle, and with the first call of a method.
      await (await openSqliteStore(':memory:')).close()
      await loadMethods()
      process.setgroups!([])
      process.setgid!(request.uid)
      process.setuid!(request.uid)
      return null
    default:
      return request satisfies never
  }
}

/** The negative control: the same store, but writers do not lock before they read. */
async function openUnlocked(target: string): Promise<Store> {
  if (target.startsWith('postgres')) {
    const pool = new Pool({ connectionString: target })
    pool.on('error', () => {}) // the database may be dropped first
    pool.on('connect', client => {
      const { connection } = client as unknown as { connection: { parse(query: { text: string }): void } }
      const parse = connection.parse.bind(connection)
      connection.parse = query => parse({ ...query, text: withoutLocks(query.text) })
    })
    return postgresStore(pool)
  }
  const db = new BetterSqlite3(target, { timeout: 0 })
  const prepare = db.prepare.bind(db)
  db.prepare = ((sql: string) => prepare(sql === 'BEGIN IMMEDIATE' ? 'BEGIN' : sql)) as typeof db.prepare
  return sqliteStore(db)
}

function withoutLocks(text: string): string {
  return text.replace(/FOR (NO KEY )?UPDATE[^)]*/, '').replace('pg_advisory_xact_lock', 'abs')
}
