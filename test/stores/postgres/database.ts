import { Pool, type PoolConfig } from 'pg'
import { afterAll } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { postgresUrl } from '../../support/postgres-url.ts'

const pools: Pool[] = []
afterAll(async () => {
  for (const pool of pools) if (!pool.ending) await pool.end()
})

/** Creates an empty database and returns its URL. It is removed with the server. */
export async function freshDatabase(): Promise<string> {
  return createDatabase(await postgresUrl())
}

/** A pool on a database, closed at the end of the test file at the latest. */
export function openPool(url: string, options: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: url, ...options })
  pool.on('error', () => {}) // tests end connections on purpose
  pools.push(pool)
  return pool
}

/** Counts the round trips of a pool's connections from now on. */
export function countTrips(pool: Pool): () => number {
  let trips = 0
  pool.on('connect', client => {
    const query = client.query.bind(client)
    client.query = ((...args: Parameters<typeof query>) => {
      trips++
      return query(...args)
    }) as typeof client.query
  })
  return () => trips
}
