import { isTurnUsedUp, nextTurn } from '../../system/event-loop-turns.ts'

/** The size from which a piece is sent: small pieces cost more than their bytes. */
const pieceSize = 16_384

/** Called if a body breaks off after its response has begun. Logs the error. Returns the error for the
 *  stream, which says nothing about the cause, or null if the connection was closed instead. */
export type CutOff = (error: unknown) => Error | null

/** The reader of a stream is too slow, which the message explains. */
export class SlowReaderError extends Error {
  constructor(how: string) {
    super(`reader disconnected: ${how}`)
    this.name = 'SlowReaderError'
  }
}

/** A response whose body is read as fast as the client takes it. Waits for the first piece, so that an error
 *  before it gets a status of its own; a later one cuts the connection. */
export async function streamed(
  pieces: AsyncIterable<string | Uint8Array>,
  init: { readonly headers: Readonly<Record<string, string>>; readonly cutOff: CutOff },
): Promise<Response> {
  const { headers, cutOff } = init
  const iterator = inPieces(pieces)[Symbol.asyncIterator]()
  let next = await iterator.next()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (next.done) {
          controller.close()
          return
        }
        controller.enqueue(next.value)
        try {
          next = await iterator.next()
        } catch (error) {
          return breakOff(controller, cutOff(error))
        }
      },
      async cancel() {
        await iterator.return?.(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers })
}

/** Ends a stream that failed. While its connection is being closed it stays silent: its end would make the
 *  body look complete. */
export function breakOff(
  controller: ReadableStreamDefaultController<Uint8Array>,
  shown: Error | null,
): Promise<void> {
  if (shown === null) return new Promise(() => undefined)
  controller.error(shown)
  return Promise.resolve()
}

async function* inPieces(parts: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let waiting = ''
  for await (const part of parts) {
    // A page is made without waiting for anything: other requests would have to.
    if (isTurnUsedUp()) await nextTurn()
    if (typeof part === 'string') {
      waiting += part
      if (waiting.length < pieceSize) continue
    }
    if (waiting !== '') yield encoder.encode(waiting)
    waiting = ''
    if (typeof part !== 'string') yield part
  }
  if (waiting !== '') yield encoder.encode(waiting)
}
