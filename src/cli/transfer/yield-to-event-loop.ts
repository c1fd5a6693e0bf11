import { setImmediate } from 'node:timers/promises'

/** Passes things on, and now and then lets the process look after everything else: a store in a file answers without
 *  ever waiting, and then neither Ctrl+C nor a slow reader would be heard. */
export async function* yieldToEventLoop<T>(things: AsyncIterable<T>): AsyncGenerator<T> {
  let since = performance.now()
  for await (const thing of things) {
    yield thing
    if (performance.now() - since < 50) continue
    await setImmediate()
    since = performance.now()
  }
}
