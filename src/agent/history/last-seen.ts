import type { BranchRef } from '../../core/branch.ts'
import type { Message } from '../../core/message.ts'
import type { TurnReport } from '../../recorder/recording.ts'
import { type History, isBranch, type ResolvedTarget, type Target, targetName } from './history.ts'

/** A conversation as it was after a turn. */
export interface SeenConversation {
  readonly resolved: ResolvedTarget
  readonly history: History
}

/** The last known state of each branch, for when storage cannot be read. */
export interface LastSeen {
  /** The state of the branch that a target named after its last turn. A branch that was found by its key is
   *  also known by its own name: a chat sends its first message to a key, and the next one to the branch. */
  find(target: Target): SeenConversation | undefined
  /** Keeps the messages that a turn has read and added. If it is on a new branch, they are the state of that
   *  branch, also if it forks only when its queued messages are stored. */
  keep(
    resolved: ResolvedTarget,
    path: readonly Message[],
    report: Pick<TurnReport, 'branch' | 'whenSaved'>,
  ): void
}

/** Most branches, and most keys, to keep. */
const mostSeen = 100

export function createLastSeen(): LastSeen {
  const states = new Map<string, SeenConversation>()
  /** The names of branches by their keys. */
  const names = new Map<string, string>()

  return {
    find(target) {
      const name = isBranch(target) ? targetName(target) : names.get(targetName(target))
      const seen = name === undefined ? undefined : states.get(name)
      return seen && { ...seen, resolved: { ...seen.resolved, target } }
    },
    keep(resolved, path, { branch, whenSaved }) {
      if (resolved.branch === null || path.length === 0) return
      if (!isBranch(resolved.target))
        setNewest(names, targetName(resolved.target), targetName(resolved.branch))
      const older = path[0]!.depth
      const history = { messages: path, older, missing: older, summary: null, uncovered: null }
      const name = targetName(branch)
      const seen = { resolved: onBranch(resolved, branch), history }
      setNewest(states, name, seen)
      void whenSaved?.then(({ branch: final }) => {
        if (states.get(name) !== seen || targetName(final) === name) return
        states.delete(name)
        setNewest(states, targetName(final), { resolved: onBranch(resolved, final), history })
      })
    },
  }
}

function setNewest<T>(map: Map<string, T>, name: string, value: T): void {
  map.delete(name)
  map.set(name, value)
  if (map.size > mostSeen) map.delete(map.keys().next().value!)
}

/** The same conversation on a branch that a turn may have forked. The turn has changed its end. */
function onBranch(resolved: ResolvedTarget, { name }: BranchRef): ResolvedTarget {
  const branch = resolved.branch!
  if (branch.name === name) return { ...resolved, end: null }
  return { ...resolved, branch: { ...branch, name, key: null, formerKey: null, title: null }, end: null }
}
