/** Handles things one after the other, at once where nothing holds them up: what comes while one is being
 *  seen to waits. One that fails is told of, and holds up nothing. */
export function inOrder<T>(
  handle: (thing: T) => void | Promise<void>,
  onFailure: (error: unknown) => void,
): (thing: T) => void {
  const waiting: T[] = []
  let busy = false

  async function goOn(first: Promise<void>): Promise<void> {
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
    if (under) void goOn(under)
  }
}
