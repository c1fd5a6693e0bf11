/** Runs work of the same name one after the other, in the order it was handed in; other names in parallel. */
export type Lanes = <T>(name: string, work: () => Promise<T>) => Promise<T>

export function createLanes(): Lanes {
  const last = new Map<string, Promise<unknown>>()
  return (name, work) => {
    const before = last.get(name) ?? Promise.resolve()
    const mine = before.then(work, work)
    last.set(name, mine)
    const leave = () => {
      if (last.get(name) === mine) last.delete(name)
    }
    mine.then(leave, leave)
    return mine
  }
}
