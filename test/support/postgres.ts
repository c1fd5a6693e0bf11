import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import type { GuardOptions, GuardOrder, GuardReady } from './postgres-guard.ts'

/** A PostgreSQL for tests. Clients are the plain role `skein_test`, which may only create databases. */
export interface Postgres {
  /** The database `skein`, for instance
   *  `postgresql://skein_test@localhost/skein?host=/tmp/skein-x1/socket`. */
  readonly url: string
  /** Makes an empty database and returns its URL. */
  createDatabase(): Promise<string>
  /** Ends the server and removes its files. Further calls do nothing. */
  stop(): Promise<void>
}

/** An embedded server, which can crash and start again. */
export interface OwnPostgres extends Postgres {
  /** Ends the server as a crash does. Committed data survives. */
  away(): Promise<void>
  /** Starts a server that is away, or that has not been started because it is lazy. */
  back(): Promise<void>
}

/** How to start a PostgreSQL for tests, benchmarks and examples. */
export interface PostgresOptions {
  /** Benchmarks of durable writes need `on`. Default: `off`, which is faster. */
  readonly fsync?: 'on' | 'off'
  /** A directory from `makePlace`. The server owns it and removes it at its end. Default: a new one. */
  readonly directory?: string
  /** Starts the server with the first call of `back`. Default: false. */
  readonly lazy?: boolean
  /** Further settings of the server, by name. */
  readonly settings?: Readonly<Record<string, string>>
}

/**
 * Starts an embedded PostgreSQL on a Unix socket, or makes a database on the server that
 * SKEIN_TEST_POSTGRES_URL names. Throws if that is not possible: a missing server is a failure, not a skip.
 */
export function startPostgres(options: Omit<PostgresOptions, 'lazy'> = {}): Promise<Postgres> {
  const given = process.env.SKEIN_TEST_POSTGRES_URL
  return given ? borrowPostgres(given) : startOwnPostgres(options)
}

/** Makes an empty database on the server of `url`, owned by the same role, and returns its URL. */
export async function createDatabase(url: string): Promise<string> {
  const fresh = new URL(url)
  fresh.pathname += `_${randomBytes(6).toString('hex')}`
  // template0 refuses connections, and a busy template makes "create database" fail. Copying files is three
  // times as fast here as writing them through the log.
  await run(url, `create database "${databaseOf(fresh)}" template template0 strategy file_copy`)
  return fresh.href
}

/** Drops the database at `url` and ends its connections. `via` is the URL of another database of the same
 *  server. */
export async function dropDatabase(url: string, via: string): Promise<void> {
  await run(via, `drop database if exists "${databaseOf(new URL(url))}" with (force)`)
}

/** Starts an embedded PostgreSQL, also if SKEIN_TEST_POSTGRES_URL is set. */
export async function startOwnPostgres(options: PostgresOptions = {}): Promise<OwnPostgres> {
  const { fsync = 'off', directory = makePlace(), lazy = false, settings = {} } = options
  const told: GuardOptions = { fsync, directory, lazy, settings }
  const guard = spawn(
    process.execPath,
    [fileURLToPath(new URL('postgres-guard.ts', import.meta.url)), JSON.stringify(told)],
    // Detached: a terminal's Ctrl-C must not reach the guard, which outlives this process.
    { stdio: ['pipe', 'pipe', 'pipe'], detached: true },
  )
  let complaint = ''
  guard.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaint += chunk
  })
  const ended = once(guard, 'close')
  const lines = createInterface({ input: guard.stdout })
  const [line] = await Promise.race([once(lines, 'line'), ended])
  if (typeof line !== 'string') throw new Error(`PostgreSQL did not start:\n${complaint}`)
  const ready = JSON.parse(line) as GuardReady
  const url = `postgresql://skein_test@localhost/skein?host=${encodeURI(ready.socketDirectory)}`
  return {
    url,
    createDatabase: () => createDatabase(url),
    away: () => order('away'),
    back: () => order('back'),
    async stop() {
      guard.stdin.end()
      const [code] = await ended
      if (code !== 0) throw new Error(`PostgreSQL did not end well:\n${complaint}`)
    },
  }

  async function order(what: GuardOrder): Promise<void> {
    guard.stdin.write(`${what}\n`)
    const [answer] = await Promise.race([once(lines, 'line'), ended])
    if (answer !== 'done') throw new Error(`PostgreSQL did not go ${what}:\n${complaint}`)
  }
}

/** Makes a database on the server at `given`. `stop` drops it. */
export async function borrowPostgres(given: string): Promise<Postgres> {
  const url = await createDatabase(given)
  const made: string[] = [url]
  let stopped: Promise<void> | undefined
  return {
    url,
    async createDatabase() {
      const fresh = await createDatabase(url)
      made.push(fresh)
      return fresh
    },
    stop() {
      stopped ??= dropFamily(url, given)
      return stopped
    },
  }
}

/** Drops the database at `url` and all that `createDatabase` made next to it: their names begin with its
 *  name. */
async function dropFamily(url: string, via: string): Promise<void> {
  const name = databaseOf(new URL(url))
  const found = await run(via, 'select datname from pg_database where starts_with(datname, $1)', [name])
  for (const { datname } of found) await run(via, `drop database "${datname}" with (force)`)
}

async function run(url: string, sql: string, values: string[] = []): Promise<{ datname: string }[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<{ datname: string }>(sql, values)).rows
  } finally {
    await client.end()
  }
}

function databaseOf(url: URL): string {
  return decodeURIComponent(url.pathname.slice(1))
}

/**
 * Makes a directory for a server: in TMPDIR, or in /tmp if that is too long or too private. The path of a
 * socket has at most 103 bytes, and for root the server runs as another user, who has to reach the directory.
 */
export function makePlace(): string {
  const usual = tmpdir()
  const fits = usual.length <= 60 && (process.getuid?.() !== 0 || isOpenToAll(usual))
  const place = mkdtempSync(join(fits ? usual : '/tmp', 'skein-'))
  chmodSync(place, 0o755)
  return place
}

function isOpenToAll(path: string): boolean {
  const parent = dirname(path)
  return (statSync(path).mode & 0o001) !== 0 && (parent === path || isOpenToAll(parent))
}
