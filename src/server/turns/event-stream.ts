import { breakOff, type CutOff } from '../http/stream.ts'

/** The headers of a stream of events. Proxies must neither change nor collect it. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const

/** How often a comment is sent, so that proxies keep the connection open. */
const heartbeatMs = 15_000

/** An event in the format of server-sent events. Its type is also its name. */
export function eventText<E extends { readonly type: string }>(event: E): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Texts as they come, with a comment in every pause of 15 seconds. Ends the texts when the reader leaves. */
export function withHeartbeat(texts: AsyncIterable<string>, cutOff: CutOff): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const iterator = texts[Symbol.asyncIterator]()
  let next: Promise<IteratorResult<string>> | null = null
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        next ??= iterator.next()
        const { promise, resolve } = Promise.withResolvers<null>()
        const timer = setTimeout(() => resolve(null), heartbeatMs)
        timer.unref()
        const read = await Promise.race([next, promise])
          .catch((error: unknown) => ({ error }))
          .finally(() => clearTimeout(timer))
        if (read !== null && 'error' in read) return breakOff(controller, cutOff(read.error))
        if (read === null) return controller.enqueue(encoder.encode(': still here\n\n'))
        next = null
        if (read.done) controller.close()
        else controller.enqueue(encoder.encode(read.value))
      },
      cancel() {
        iterator.return?.(undefined).catch(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
