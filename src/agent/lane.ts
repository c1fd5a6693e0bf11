import { createSerialQueue, type SerialQueue } from '../core/wait.ts'

/** Runs work of the same name one after the other, in the order of the calls; work of other names in parallel. */
export type Lanes = <T>(name: string, work: () => Promise<T>) => Promise<T>

export function createLanes(): Lanes {
  const lanes = new Map<string, { readonly queue: SerialQueue; waiting: number }>()
  return async (name, work) => {
    const lane = lanes.get(name) ?? { queue: createSerialQueue(), waiting: 0 }
    lanes.set(name, lane)
    lane.waiting++
    try {
      return await lane.queue(work)
    } finally {
      if (--lane.waiting === 0) lanes.delete(name)
    }
  }
}
