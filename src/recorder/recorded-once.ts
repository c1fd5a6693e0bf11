import { AsyncLocalStorage } from 'node:async_hooks'
import type { BranchRef } from '../core/branch.ts'
import type { RecordStore } from './recording.ts'

/** What is recorded at one place, so that nothing is recorded there twice: models and tools are wrapped far from where
 *  they are used, and sometimes once more there. */
export interface Once {
  /** Whether the call that is just being made passes through a recording at this place already. */
  readonly isInside: boolean
  /** Makes a call of a model that is recorded here. */
  call<T>(call: () => PromiseLike<T>): Promise<T>
  /** Notes that a tool is recorded here. */
  mark<T extends object>(tool: T): T
  isMarked(tool: object): boolean
}

interface Place {
  readonly store: RecordStore
  readonly where: string | BranchRef
}

/** A call under way. What a model leaves running when it has answered, such as the reading of its stream, is not part
 *  of the call any more: a tool that runs there may ask a recorded model itself. */
interface Call {
  readonly place: Place
  under: boolean
}

const calls = new AsyncLocalStorage<readonly Call[]>()
const marked = new WeakMap<object, Place>()

export function onceAt(store: RecordStore, where: string | BranchRef): Once {
  const place = { store, where }
  return {
    get isInside() {
      return calls.getStore()?.some(call => call.under && isSame(call.place, place)) ?? false
    },
    async call(make) {
      const one = { place, under: true }
      try {
        return await calls.run([...(calls.getStore() ?? []), one], make)
      } finally {
        one.under = false
      }
    },
    mark(tool) {
      marked.set(tool, place)
      return tool
    },
    isMarked(tool) {
      const at = marked.get(tool)
      return at !== undefined && isSame(at, place)
    },
  }
}

function isSame(a: Place, b: Place): boolean {
  if (a.store !== b.store) return false
  if (typeof a.where === 'string' || typeof b.where === 'string') return a.where === b.where
  return a.where.conversationId === b.where.conversationId && a.where.name === b.where.name
}
