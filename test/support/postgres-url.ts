import { once } from 'node:events'
import { createConnection, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { inject } from 'vitest'

/** The answer to a worker that asks for PostgreSQL. */
type Answer = { readonly url: string } | { readonly error: string }

declare module 'vitest' {
  export interface ProvidedContext {
    /** The socket on which the run tells the URL of its PostgreSQL. */
    readonly postgresSocket: string
  }
}

/** Tells the URL of PostgreSQL to every process that connects to the socket. The first connection calls
 *  `start`. */
export async function tellPostgresUrl(socket: string, start: () => Promise<string>): Promise<Disposable> {
  let started: Promise<Answer> | undefined
  const server = createServer(connection => {
    connection.on('error', () => {}) // the worker has ended
    started ??= start().then(
      url => ({ url }),
      error => ({ error: String(error) }),
    )
    void started.then(answer => connection.end(JSON.stringify(answer)))
  })
  server.listen(socket)
  await once(server, 'listening')
  return { [Symbol.dispose]: () => void server.close() }
}

let known: Promise<string> | undefined

/** The URL of the run's PostgreSQL. The first call in a run starts the server, in whichever worker it is
 *  made. */
export function postgresUrl(): Promise<string> {
  known ??= askPostgresUrl(inject('postgresSocket'))
  return known
}

export async function askPostgresUrl(socket: string): Promise<string> {
  const answer: Answer = JSON.parse(await text(createConnection(socket)))
  if ('error' in answer) throw new Error(answer.error)
  return answer.url
}
