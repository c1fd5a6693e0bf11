import type { ActivityEvent, FollowChange, TaskEvent } from '../core/follow.ts'
import { gistOf } from '../core/gist.ts'
import type { ConversationId } from '../core/ids.ts'
import type { Message } from '../core/message.ts'
import { approvalJson } from './approval.ts'
import { branchHeadJson } from './branch.ts'
import { storedMessageJson } from './message.ts'
import type { IsLive } from './path-facts.ts'
import type {
  activitySchema,
  closingEventSchema,
  followEventSchema,
  JsonOf,
  taskEventSchema,
} from './schema/index.ts'
import { taskJson } from './task.ts'
import { draftPieceJson, turnJson } from './turn.ts'

/** A change of a followed conversation as JSON. */
export type FollowEventJson = JsonOf<typeof followEventSchema>

/** Activity of the tenant as JSON. */
export type ActivityJson = JsonOf<typeof activitySchema>

/** A change of a task as JSON. */
export type TaskEventJson = JsonOf<typeof taskEventSchema>

/** The end of a stream as JSON. */
export type ClosingEventJson = JsonOf<typeof closingEventSchema>

/** Maps a change of a followed conversation to JSON. */
export function followEventJson(
  conversation: ConversationId,
  change: FollowChange,
  isLive: IsLive,
): FollowEventJson {
  switch (change.type) {
    case 'message':
    case 'erased':
      return { type: change.type, conversation, message: storedMessageJson(change.message) }
    case 'approval':
      return { type: change.type, conversation, approval: approvalJson(change.approval) }
    case 'turn':
      return { type: change.type, conversation, turn: turnJson(change.turn, isLive) }
    case 'draft':
      return {
        type: change.type,
        conversation,
        turn: turnJson(change.turn, isLive),
        pieces: change.pieces.map(draftPieceJson),
      }
    case 'branch':
      return { type: change.type, conversation, branch: branchHeadJson(change.branch) }
    case 'branch_deleted':
      return { type: change.type, conversation, name: change.name }
    case 'branches':
      return { type: change.type, conversation, branches: change.branches.map(branchHeadJson) }
    case 'conversation': {
      const { version, title, model, activeBranch, updatedAt, trashedAt } = change.conversation
      return {
        type: change.type,
        conversation,
        version,
        title,
        model,
        active_branch: activeBranch,
        updated_at: updatedAt.toISOString(),
        trashed_at: trashedAt?.toISOString() ?? null,
      }
    }
    case 'gone':
      return { type: change.type, conversation }
    default:
      return change satisfies never
  }
}

/** Maps activity of the tenant to JSON. `last` is the head of the active branch, if the caller has read
 *  it. */
export function activityJson({ conversation: one }: ActivityEvent, last: Message | null): ActivityJson {
  return {
    type: 'activity',
    conversation: one.id,
    version: one.version,
    title: one.title,
    updated_at: one.updatedAt.toISOString(),
    trashed_at: one.trashedAt?.toISOString() ?? null,
    last: last && { id: last.id, text: gistOf(last) },
  }
}

/** Maps a change of a task to JSON. */
export function taskEventJson(event: TaskEvent): TaskEventJson {
  if (event.type === 'task') return { type: event.type, task: taskJson(event.task) }
  return { type: event.type, id: event.id }
}
