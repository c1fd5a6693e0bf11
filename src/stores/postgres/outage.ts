import type { Client } from 'pg'
import { stateOf } from './errors.ts'
import type { PostgresClient, PostgresPool } from './pool.ts'

/** While a network swallows everything, each connection takes as long as it may before it fails. Calls that
 *  come meanwhile fail at once, and a connection outside the pool is tried in the background. */

/** How long the calls that follow fail at once. */
const memoryMs = 10_000

/** How long a connection in the background may take. */
const trialMs = 5_000

/** Whether the server of a pool can be reached. */
interface Reach {
  /** Why it could not be, and when that was last so. */
  outage: { readonly error: Error; readonly lastAt: number } | null
  isTrying: boolean
  /** When it last was. */
  reachedAt: number
  /** Connections from before the last outage may be dead. */
  staleBefore: number
}

const reaches = new WeakMap<PostgresPool, Reach>()
const openedAt = new WeakMap<PostgresClient, number>()

/** A pool of pg. */
export interface EventfulPool extends PostgresPool {
  /** Adds a listener for new connections. */
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
}

/** Has calls fail at once during an outage. To be called before the first connection. */
export function noteOutages(pool: EventfulPool): void {
  const never = Number.NEGATIVE_INFINITY
  const reach: Reach = { outage: null, isTrying: false, reachedAt: never, staleBefore: never }
  reaches.set(pool, reach)
  pool.on('connect', client => {
    reach.reachedAt = performance.now()
    openedAt.set(client, reach.reachedAt)
  })
}

/** When a client of such a pool was connected. */
export function connectedAt(client: PostgresClient): number {
  return openedAt.get(client)!
}

/** Notes that the server has answered. */
export function noteAnswer(pool: PostgresPool): void {
  const reach = reaches.get(pool)
  if (!reach) return
  reach.reachedAt = performance.now()
  reach.outage = null
}

/** Notes that an attempt that began then has not reached the server. Returns false if the server has answered
 *  since then: a busy one may take long for a new connection. */
export function noteOutage(pool: PostgresPool, began: number, cause: unknown): boolean {
  const reach = reaches.get(pool)
  if (!reach || reach.reachedAt > began) return false
  const now = performance.now()
  const error = Object.assign(new Error('it does not answer', { cause }), { code: 'ETIMEDOUT' })
  reach.outage = { error, lastAt: now }
  reach.staleBefore = now
  return true
}

/** Borrows a client. During an outage, throws its error at once. */
export async function borrow(pool: PostgresPool): Promise<PostgresClient> {
  const reach = reaches.get(pool)
  if (!reach) return pool.connect()
  const { outage } = reach
  if (outage && (reach.isTrying || performance.now() - outage.lastAt < memoryMs)) {
    if (!reach.isTrying) void tryAgain(pool, reach)
    throw outage.error
  }
  const began = performance.now()
  try {
    for (;;) {
      const client = await pool.connect()
      if (connectedAt(client) > reach.staleBefore) return client
      client.release(true)
    }
  } catch (error) {
    // Not if all connections of the pool are in use for too long.
    const isTimeout = error instanceof Error && /due to connection timeout/.test(error.message)
    if (isTimeout) noteOutage(pool, began, error)
    throw error
  }
}

async function tryAgain(pool: PostgresPool, reach: Reach): Promise<void> {
  reach.isTrying = true
  const began = performance.now()
  const error = await onNewConnection(pool, trialMs, async () => null).catch(error => error)
  // An error of the server is an answer, too.
  if (error === null || stateOf(error) !== null) noteAnswer(pool)
  else noteOutage(pool, began, error)
  reach.isTrying = false
}

/** Opens a connection outside the pool, whose connections may all be waiting. Does not keep the process
 *  alive. */
export async function onNewConnection<T>(
  pool: PostgresPool,
  ms: number,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { Client, options } = pool as unknown as { Client: typeof import('pg').Client; options: object }
  // The password is not enumerable.
  const { password } = options as { password?: string }
  const limits = { connectionTimeoutMillis: ms, query_timeout: ms }
  const client = new Client({ ...options, ...(password !== undefined && { password }), ...limits })
  client.on('error', () => {})
  try {
    const connected = client.connect()
    // Its types lack the method.
    const { connection } = client as unknown as { connection: { unref(): void } }
    connection.unref()
    await connected
    return await work(client)
  } finally {
    void client.end().catch(() => undefined)
  }
}
