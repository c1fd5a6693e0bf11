/** What may stay when there is too much: less than the room there is, so that what gives way now is the same in the
 *  calls that follow. Providers remember the beginning of a context for its next call, which then costs a tenth;
 *  if a little more were dropped each time, the beginning would never be the same twice.
 *
 *  The excess is rounded up to a multiple of a step. Whatever is added later, it stays the same multiple until the
 *  room is full again. The step is a power of two, an eighth to a quarter of the room: a room that changes a little, as
 *  it does when counts are corrected, keeps its step. */
export function roomWithMargin(total: number, room: number): number {
  const excess = total - room
  if (!(excess > 0 && room >= 4)) return room
  const step = 2 ** Math.floor(Math.log2(room / 4))
  return total - Math.ceil(excess / step) * step
}
