import { statementChannel } from '../../system/debug.ts'
import { type BatchResult, type Naming, runBatch } from './batch.ts'
import { watched } from './dead-connections.ts'
import { isBroken, isOfOther, isOfStandby, translate } from './errors.ts'
import { borrow } from './outage.ts'
import type { BoundStatement } from './prepared.ts'

/** The part of pg's client that we use. */
export interface PostgresClient {
  /** Runs several prepared statements in one round trip: pg calls `submit` when the connection is free. */
  query(batch: { submit(connection: never): void }): unknown
  /** Runs a text with one or more statements and without values. */
  query(text: string): Promise<unknown>
  /** Adds a listener for lost connections and for warnings of the server. */
  on(
    event: 'error' | 'notice',
    listener: (message: Error & { routine?: string | undefined }) => void,
  ): unknown
  /** Removes a listener before the client is released. */
  removeListener(
    event: 'error' | 'notice',
    listener: (message: Error & { routine?: string | undefined }) => void,
  ): unknown
  /** Returns the client to its pool. True closes the connection instead, because its state is unknown. */
  release(destroy?: boolean): void
}

/** The part of pg's pool that we use. Any object with this method will do. */
export interface PostgresPool {
  /** Borrows a client, which is released after each transaction. */
  connect(): Promise<PostgresClient>
}

/** A borrowed connection. */
export interface PooledConnection {
  /** Sends statements in one round trip. Rejects with pg's own error. */
  run(statements: readonly BoundStatement[]): Promise<readonly BatchResult[]>
  /** Runs a text with one or more statements and without values. */
  execute(text: string): Promise<void>
  /** The warnings since the last call, each as the name of the server's function that raised it. */
  takeWarnings(): readonly string[]
  /** Discards the connection after the work, because its state is unknown. */
  spoil(): void
  /** Keeps the connection until some work is done that the result does not depend on. */
  keepUntil(done: Promise<unknown>): void
}

/** Borrows a connection for some work. Throws UnavailableError if there is none. */
export async function withConnection<T>(
  pool: PostgresPool,
  naming: Naming,
  work: (link: PooledConnection) => Promise<T>,
): Promise<T> {
  const client = await connect(pool)
  let spoilt = false
  let last: Promise<unknown> | null = null
  let warnings: string[] = []
  // Without a listener of its own, a client that loses its server would end the process.
  const onError = () => {
    spoilt = true
  }
  const onNotice = ({ routine }: { routine?: string | undefined }) => {
    if (routine !== undefined) warnings.push(routine)
  }
  client.on('error', onError)
  client.on('notice', onNotice)
  try {
    return await work({
      run: statements =>
        watched(pool, client, () =>
          statementChannel.hasSubscribers
            ? traced(client, statements, naming)
            : runBatch(client, statements, naming),
        ),
      execute: async text => {
        await watched(pool, client, () => client.query(text) as Promise<unknown>)
      },
      takeWarnings: () => warnings.splice(0),
      spoil: onError,
      keepUntil: done => {
        last = done
      },
    })
  } catch (error) {
    if (isBroken(error) || isOfOther(error) || isOfStandby(error)) spoilt = true
    throw error
  } finally {
    if (last === null) release()
    else void (last as Promise<unknown>).then(release, release)
  }

  function release(): void {
    warnings = []
    client.release(spoilt)
    client.removeListener('notice', onNotice)
    client.removeListener('error', onError)
  }
}

async function traced(
  client: PostgresClient,
  statements: readonly BoundStatement[],
  naming: Naming,
): Promise<readonly BatchResult[]> {
  const start = performance.now()
  const trace = {
    engine: 'postgres',
    statements: statements.map(({ statement }) => statement.label),
  } as const
  try {
    const results = await runBatch(client, statements, naming)
    const rows = results.reduce((sum, { rows, changes }) => sum + Math.max(rows.length, changes), 0)
    statementChannel.publish({ ...trace, rows, ms: performance.now() - start })
    return results
  } catch (error) {
    statementChannel.publish({ ...trace, rows: 0, ms: performance.now() - start, error })
    throw error
  }
}

async function connect(pool: PostgresPool): Promise<PostgresClient> {
  try {
    return await borrow(pool)
  } catch (error) {
    throw translate(error)
  }
}
