import { Pool } from 'pg'
import { afterAll, inject } from 'vitest'
import { createDatabase, dropDatabase } from '../../support/postgres.ts'

/** Makes an empty database that goes away with the test file, and gives its URL. */
export async function freshDatabase(): Promise<string> {
  const via = inject('postgresUrl')
  const url = await createDatabase(via)
  afterAll(() => dropDatabase(url, via))
  return url
}

/** A pool on a database, closed at the end of the test file. */
export function openPool(url: string, options: { max?: number } = {}): Pool {
  const pool = new Pool({ connectionString: url, ...options })
  pool.on('error', () => {}) // tests end connections on purpose
  afterAll(async () => {
    if (!pool.ending) await pool.end()
  })
  return pool
}
