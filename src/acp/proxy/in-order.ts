/** Handles things one after the other, at once where nothing holds them up: what comes while one is being seen to waits. */
export function inOrder<T>(handle: (thing: T) => void | Promise<void>): (thing: T) => void {
  const waiting: T[] = []
  let busy = false

  async function goOn(first: Promise<void>): Promise<void> {
    busy = true
    await first
    while (waiting.length > 0) await handle(waiting.shift()!)
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
