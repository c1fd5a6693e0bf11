import { type Batch, type BatchResult, runBatch } from './batch.ts'
import { isBroken, translate } from './errors.ts'
import type { BoundStatement } from './prepared.ts'

/** What we use of a client of pg. */
export interface PostgresClient {
  query(batch: Batch): unknown
  query(text: string): Promise<unknown>
  on(event: 'error' | 'notice', listener: (message: Error & { code?: string | undefined }) => void): unknown
  // biome-ignore lint/suspicious/noExplicitAny: as pg declares it
  removeListener(event: 'error' | 'notice', listener: (...args: any[]) => void): unknown
  release(destroy?: boolean): void
}

/** What we use of a pool of pg: any object with this method will do. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
}

/** One connection, ours for a while. */
export interface PooledConnection {
  /** Sends statements in one round trip. Rejects with pg's own error. */
  run(statements: readonly BoundStatement[]): Promise<readonly BatchResult[]>
  /** Runs a text that may hold several statements and takes no values. */
  execute(text: string): Promise<void>
  /** SQLSTATE of the warnings that came since the last call. */
  takeWarnings(): readonly string[]
  /** Gives the connection up when the work is done: nobody can tell what state it is in. */
  spoil(): void
}

/** Borrows a connection for some work. Throws UnavailableError if there is none to be had. */
export async function withConnection<T>(
  pool: PostgresPool,
  work: (link: PooledConnection) => Promise<T>,
): Promise<T> {
  const client = await connect(pool)
  let spoilt = false
  let warnings: string[] = []
  // Without a listener of its own, a client that loses its server takes the process with it.
  const onError = () => {
    spoilt = true
  }
  const onNotice = ({ code }: { code?: string | undefined }) => {
    if (code !== undefined) warnings.push(code)
  }
  client.on('error', onError)
  client.on('notice', onNotice)
  try {
    return await work({
      run: statements => runBatch(client, statements),
      execute: async text => {
        await client.query(text)
      },
      takeWarnings: () => warnings.splice(0),
      spoil: onError,
    })
  } catch (error) {
    if (isBroken(error)) spoilt = true
    throw error
  } finally {
    warnings = []
    client.release(spoilt)
    client.removeListener('notice', onNotice)
    client.removeListener('error', onError)
  }
}

async function connect(pool: PostgresPool): Promise<PostgresClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw translate(error)
  }
}
