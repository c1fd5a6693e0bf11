/** The size from which a piece is sent: small pieces cost more than their bytes. */
const pieceSize = 16_384

/** A response whose body is read as fast as the client takes it. Waits for the first piece, so that an error
 *  before it gets a status of its own; a later one breaks the connection. `onEnd` is called when the body has
 *  ended, with false if the client went away or reading failed. */
export async function streamed(
  pieces: AsyncIterable<string | Uint8Array>,
  init: { readonly status?: number; readonly headers: Readonly<Record<string, string>> },
  onEnd?: (isComplete: boolean) => void,
): Promise<Response> {
  const iterator = inPieces(pieces)[Symbol.asyncIterator]()
  let next = await iterator.next()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (next.done) {
          controller.close()
          onEnd?.(true)
          return
        }
        controller.enqueue(next.value)
        try {
          next = await iterator.next()
        } catch (error) {
          controller.error(error)
          onEnd?.(false)
        }
      },
      async cancel() {
        onEnd?.(false)
        await iterator.return?.(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, init)
}

async function* inPieces(parts: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let waiting = ''
  for await (const part of parts) {
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
