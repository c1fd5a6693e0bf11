import type { ApprovalDetails } from '../approval/approval.ts'
import { type ProjectPath, projectPath } from './project-path.ts'
import type { Workspace } from './workspace.ts'

/** Resolves the paths of calls. The path that a call uses must be the one that was approved: a link may
 *  change in between. */
export interface CheckedPaths {
  /** Before an approval. */
  look(callId: string, written: string): Promise<ProjectPath>
  /** When the call runs. Throws if the path leads elsewhere now. */
  use(callId: string, written: string): Promise<ProjectPath>
}

export function checkedPaths({ directories }: Workspace): CheckedPaths {
  const looked = new Map<string, string>()
  return {
    async look(callId, written) {
      const place = await projectPath(written, directories)
      looked.set(callId, place.path)
      return place
    },
    async use(callId, written) {
      const place = await projectPath(written, directories)
      const approved = looked.get(callId)
      looked.delete(callId)
      if (place.path !== approved) throw new Error(`${written} leads elsewhere now: ${place.path}`)
      return place
    },
  }
}

/** What is asked about a path that only needs an approval for its reason. */
export function readApproval(what: string, { path, shown, reason }: ProjectPath): false | ApprovalDetails {
  return reason !== null && { title: `${what} ${shown}`, reason, scope: `${what} ${path}` }
}
