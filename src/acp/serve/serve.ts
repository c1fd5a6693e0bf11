import { randomUUID } from 'node:crypto'
import { Readable, Writable } from 'node:stream'
import { agent, ndJsonStream } from '@agentclientprotocol/sdk/unstable'
import { answerRequests } from './answer-requests.ts'
import type { ServeOptions } from './serve-options.ts'
import { createServedSessions } from './served-sessions.ts'

/** The streams of a client. */
export interface ClientStreams {
  readonly input: Readable
  readonly output: Writable
  /** Ends the connection from our side. */
  readonly signal?: AbortSignal
}

/** The longest message: images are large, and base64 makes them larger. */
const maxMessageBytes = 128 * 1024 * 1024

/** Serves one client as an agent of the protocol until it disconnects. Then stops running turns and stores
 *  what has arrived. Does not close the store or the models. */
export async function serve(served: ServeOptions, { input, output, signal }: ClientStreams): Promise<void> {
  const app = agent({ name: 'skein' })
  const sessions = answerRequests(app, served, client => createServedSessions(served, client, randomUUID))
  const from = Readable.toWeb(input) as ReadableStream<Uint8Array>
  const connection = app.connect(ndJsonStream(Writable.toWeb(output), from, { maxMessageBytes }))
  const close = () => connection.close()
  signal?.addEventListener('abort', close, { once: true })
  if (signal?.aborted) close()
  await connection.closed
  signal?.removeEventListener('abort', close)
  await sessions().end()
}
