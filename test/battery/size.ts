/** Whether this run is a battery (`npm run battery -- <name>`), and not the gate. */
export const isFull = process.env.SKEIN_BATTERY === 'full'

/** How much a test does: little in the gate, everything in the battery. A test file that imports this is a
 *  battery, and `npm run battery` lists it. Its timeout is a size too. */
export function size<T>({ gate, full }: { readonly gate: T; readonly full: T }): T {
  return isFull ? full : gate
}
