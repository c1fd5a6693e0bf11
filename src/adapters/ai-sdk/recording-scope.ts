import { AsyncLocalStorage } from 'node:async_hooks'
import type { BranchRef } from '../../core/branch.ts'
import type { RecordStore } from '../../recorder/recording.ts'

/** One target of recording (a store and a key or branch). It prevents that a call or tool is recorded there
 *  twice: models and tools are wrapped far from where they are used, and sometimes again there. */
export interface RecordingScope {
  /** Whether the current call already passes through a recorder of this target. */
  readonly isInside: boolean
  /** Calls a model that is recorded here. */
  run<T>(call: () => PromiseLike<T>): Promise<T>
  /** Notes that a tool is recorded here. */
  mark<T extends object>(tool: T): T
  isMarked(tool: object): boolean
}

interface RecordingTarget {
  readonly store: RecordStore
  readonly where: string | BranchRef
}

/** A call in progress. Work that a model leaves running after its answer, such as reading its stream, does
 *  not belong to the call any more: a tool that runs there may itself call a recorded model. */
interface CallInProgress {
  readonly target: RecordingTarget
  isRunning: boolean
}

const calls = new AsyncLocalStorage<readonly CallInProgress[]>()
const marked = new WeakMap<object, RecordingTarget>()

export function recordingScope(store: RecordStore, where: string | BranchRef): RecordingScope {
  const target = { store, where }
  return {
    get isInside() {
      return calls.getStore()?.some(call => call.isRunning && isSame(call.target, target)) ?? false
    },
    async run(call) {
      const current = { target, isRunning: true }
      try {
        return await calls.run([...(calls.getStore() ?? []), current], call)
      } finally {
        current.isRunning = false
      }
    },
    mark(tool) {
      marked.set(tool, target)
      return tool
    },
    isMarked(tool) {
      const at = marked.get(tool)
      return at !== undefined && isSame(at, target)
    },
  }
}

function isSame(a: RecordingTarget, b: RecordingTarget): boolean {
  if (a.store !== b.store) return false
  if (typeof a.where === 'string' || typeof b.where === 'string') return a.where === b.where
  return a.where.conversationId === b.where.conversationId && a.where.name === b.where.name
}
