import type { Client } from 'pg'
import { checkMethod } from '../../core/check.ts'
import { stateOf } from './errors.ts'
import {
  connectedAt,
  type EventfulPool,
  noteAnswer,
  noteOutage,
  noteOutages,
  onNewConnection,
} from './outage.ts'
import type { PostgresClient, PostgresPool } from './pool.ts'

/** When a network swallows what is sent, a request waits for as long as the operating system tries to send
 *  it, which is 15 minutes or more. So the server is asked about requests that wait for long, on another
 *  connection: it says which of them it works on. The others get an error, and their backends on the server
 *  are ended, because a backend that is inside a transaction keeps its locks. */

/** When a connection counts as dead. */
export interface DeadConnectionOptions {
  /** How long a request gets no byte of an answer before the server is asked. Default: 5,000. */
  readonly quietMs?: number
  /** How long the server may take to answer that. Default: 5,000. */
  readonly probeMs?: number
  /** The slowest network: a long request may take so long to be sent. Default: 20 bytes a millisecond. */
  readonly bytesPerMs?: number
  /** How often to look at the requests that wait. Default: 1,000. */
  readonly lookMs?: number
}

type Limits = Required<DeadConnectionOptions>

const usual: Limits = { quietMs: 5_000, probeMs: 5_000, bytesPerMs: 20, lookMs: 1_000 }

/** Clocks of two machines run at different speeds, and a backend starts before its client knows. */
const ageSlackMs = 2_000

/** Has those connections of a pool ended that do not answer any more: a network has swallowed what was sent.
 *  Their requests fail with `unavailable` or `outcome_unknown`. To be called before the first connection.
 *  `openPostgresStore` does so with its own pool.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { endDeadConnections, postgresStore } from 'skein/postgres'
 *
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
 * endDeadConnections(pool)
 * await using store = await postgresStore(pool)
 * console.log(await store.countConversations()) // 0
 * await pool.end()
 * ```
 */
export function endDeadConnections(pool: EventfulPool, options: DeadConnectionOptions = {}): void {
  checkMethod(pool, 'pool', 'on', 'a pool of pg')
  checkMethod(pool, 'pool', 'Client', 'a pool of pg')
  noteOutages(pool)
  watches.set(pool, watchRequests(pool, { ...usual, ...options }))
}

/** Sends a request on a client of the pool. It fails if the connection turns out to be dead. */
export function watched<T>(pool: PostgresPool, client: PostgresClient, send: () => Promise<T>): Promise<T> {
  const watch = watches.get(pool)
  return watch ? watch(client as WatchedClient, send) : send()
}

type RequestWatch = <T>(client: WatchedClient, send: () => Promise<T>) => Promise<T>

const watches = new WeakMap<PostgresPool, RequestWatch>()

/** What we use of pg's client besides its methods. */
interface WatchedClient extends PostgresClient {
  /** Of the process on the server, its backend; behind a pooler it means nothing. */
  readonly processID: number
  readonly connection: {
    readonly stream: {
      readonly bytesRead: number
      readonly bytesWritten: number
      destroy(error: Error): unknown
    }
  }
}

/** A request without an answer. */
interface WaitingRequest {
  readonly client: WatchedClient
  /** Bytes written on the connection before it. */
  readonly writtenBefore: number
  bytesRead: number
  quietSince: number
  /** Whether the server has said that it does not work on it. The answer may be on its way. */
  isSuspect: boolean
}

/** A backend, and since when it exists at the latest. */
interface Backend {
  readonly pid: number
  readonly connectedAt: number
}

function watchRequests(pool: EventfulPool, limits: Limits): RequestWatch {
  const waiting = new Set<WaitingRequest>()
  /** Backends of connections that were ended while the server could not be reached. */
  let lost: readonly Backend[] = []
  let isLooking = false
  let isAsking = false
  pool.on('connect', () => {
    if (lost.length > 0) void ask([])
  })

  return async (client, send) => {
    const { bytesRead, bytesWritten } = client.connection.stream
    const quietSince = performance.now()
    const request = { client, writtenBefore: bytesWritten, bytesRead, quietSince, isSuspect: false }
    waiting.add(request)
    if (!isLooking) lookLater()
    try {
      const answer = await send()
      noteAnswer(pool)
      return answer
    } finally {
      waiting.delete(request)
    }
  }

  function lookLater(): void {
    isLooking = true
    setTimeout(look, limits.lookMs).unref()
  }

  function look(): void {
    isLooking = false
    if (waiting.size === 0) return
    lookLater()
    const quiet = [...waiting].filter(isQuiet)
    if (quiet.length > 0) void ask(quiet)
  }

  function isQuiet(request: WaitingRequest): boolean {
    const { bytesRead, bytesWritten } = request.client.connection.stream
    if (bytesRead !== request.bytesRead) {
      request.bytesRead = bytesRead
      restart(request)
    }
    const sendingMs = (bytesWritten - request.writtenBefore) / limits.bytesPerMs
    return performance.now() - request.quietSince >= limits.quietMs + sendingMs
  }

  async function ask(quiet: readonly WaitingRequest[]): Promise<void> {
    if (isAsking) return
    isAsking = true
    const began = performance.now()
    try {
      await onNewConnection(pool, limits.probeMs, client => decide(client, quiet))
    } catch (error) {
      // An error of the server, such as too many connections, says nothing about the requests.
      const isAway = stateOf(error) === null && noteOutage(pool, began, error)
      for (const request of quiet.filter(isStillQuiet)) (isAway ? end : restart)(request)
    } finally {
      isAsking = false
    }
  }

  async function decide(client: Client, quiet: readonly WaitingRequest[]): Promise<void> {
    const backends = await readBackends(client, quiet.map(backendOf))
    for (const request of quiet.filter(isStillQuiet)) {
      if (backends === null || isWorking(backends.get(request.client.processID))) restart(request)
      else if (request.isSuspect) end(request)
      else request.isSuspect = true
    }
    const ended = lost
    lost = []
    if (backends !== null && ended.length > 0) await endBackends(client, ended)
  }

  function isStillQuiet(request: WaitingRequest): boolean {
    return waiting.has(request) && request.client.connection.stream.bytesRead === request.bytesRead
  }

  function end({ client }: WaitingRequest): void {
    lost = [...lost, backendOf({ client })]
    const error = Object.assign(new Error('the server does not answer any more'), { code: 'ETIMEDOUT' })
    client.connection.stream.destroy(error)
  }

  function backendOf({ client }: Pick<WaitingRequest, 'client'>): Backend {
    return { pid: client.processID, connectedAt: connectedAt(client) }
  }
}

function restart(request: WaitingRequest): void {
  request.quietSince = performance.now()
  request.isSuspect = false
}

interface BackendRow {
  readonly pid: number
  /** Null if it belongs to another role. */
  readonly state: string | null
  readonly wait_event_type: string | null
}

const mine = `
  FROM unnest($1::int[], $2::float8[]) AS known(pid, age_ms)
  JOIN pg_stat_activity a ON a.pid = known.pid AND a.datname = current_database()
    -- The number of a process that has ended may belong to another one.
    AND a.backend_start <= clock_timestamp() - (known.age_ms - ${ageSlackMs}) * interval '1 ms'`

/** Those that still exist, by their numbers. Null behind a pooler, where the numbers are not those of
 *  the server. */
async function readBackends(
  client: Client,
  backends: readonly Backend[],
): Promise<ReadonlyMap<number, BackendRow> | null> {
  const { rows: own } = await client.query('SELECT pg_backend_pid() AS pid')
  if (own[0].pid !== (client as unknown as WatchedClient).processID) return null
  const { rows } = await client.query<BackendRow>(
    `SELECT a.pid, a.state, a.wait_event_type ${mine}`,
    parametersOf(backends),
  )
  return new Map(rows.map(row => [row.pid, row]))
}

/** A backend that waits for its client has nothing left to do: everything was sent to it. */
function isWorking(row: BackendRow | undefined): boolean {
  if (row === undefined) return false
  if (row.state === 'active') return row.wait_event_type !== 'Client'
  return row.state === null || !row.state.startsWith('idle')
}

async function endBackends(client: Client, backends: readonly Backend[]): Promise<void> {
  await client.query(
    `SELECT pg_terminate_backend(a.pid) ${mine} WHERE a.usename = current_user`,
    parametersOf(backends),
  )
}

function parametersOf(backends: readonly Backend[]): unknown[] {
  const now = performance.now()
  return [backends.map(({ pid }) => pid), backends.map(({ connectedAt }) => now - connectedAt)]
}
