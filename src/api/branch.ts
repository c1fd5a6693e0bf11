import type { Branch } from '../core/branch.ts'
import { gistOf } from '../core/gist.ts'
import type { ShownBranch } from './read-branches.ts'
import type { branchHeadSchema, branchSchema, JsonOf } from './schema/index.ts'

/** A branch in a list as JSON. */
export type BranchJson = JsonOf<typeof branchSchema>

/** A branch by itself as JSON. */
export type BranchHeadJson = JsonOf<typeof branchHeadSchema>

/** Maps a branch of a list to JSON. */
export function branchJson({ info, head, own, prompt }: ShownBranch): BranchJson {
  return {
    name: info.name,
    active: info.active,
    head: head?.id ?? null,
    key: info.key,
    title: info.title,
    base: info.base,
    own_messages: own,
    path_messages: head === null ? 0 : head.depth + 1,
    created_at: info.createdAt.toISOString(),
    updated_at: info.updatedAt.toISOString(),
    prompt: prompt === null ? null : { id: prompt.id, text: gistOf(prompt) },
  }
}

/** Maps a branch to JSON. */
export function branchHeadJson(branch: Branch): BranchHeadJson {
  return {
    conversation: branch.conversationId,
    name: branch.name,
    head: branch.head,
    key: branch.key,
    former_key: branch.formerKey,
    title: branch.title,
    created_at: branch.createdAt.toISOString(),
    updated_at: branch.updatedAt.toISOString(),
  }
}
