/** Handles items one after the other. An item is handled synchronously if nothing is ahead of it, so that the
 *  lines of a process are handled before its end is reported; a queue of promises (createSerialQueue) would
 *  delay each one. A failure is reported, and does not stop the queue. */
export function inOrder<T>(
  handle: (thing: T) => void | Promise<void>,
  onFailure: (error: unknown) => void,
): (thing: T) => void {
  const waiting: T[] = []
  let busy = false

  async function drain(first: Promise<void>): Promise<void> {
    busy = true
    for (let under: void | Promise<void> = first; ; under = handle(waiting.shift()!)) {
      try {
        await under
      } catch (error) {
        onFailure(error)
      }
      if (waiting.length === 0) break
    }
    busy = false
  }

  return thing => {
    if (busy) {
      waiting.push(thing)
      return
    }
    const under = handle(thing)
    if (under) void drain(under)
  }
}
