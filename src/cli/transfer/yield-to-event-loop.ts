import { setImmediate } from 'node:timers/promises'

/** Yields to the event loop from time to time: a store in a file answers without waiting, so that otherwise
 *  neither Ctrl+C nor a slow reader would be handled. */
export async function* yieldToEventLoop<T>(things: AsyncIterable<T>): AsyncGenerator<T> {
  let since = performance.now()
  for await (const thing of things) {
    yield thing
    if (performance.now() - since < 50) continue
    await setImmediate()
    since = performance.now()
  }
}
