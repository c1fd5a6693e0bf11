import type { StoredApproval } from './approval.ts'
import type { Branch } from './branch.ts'
import type { Conversation } from './conversation.ts'
import type { ConversationId } from './ids.ts'
import type { ListedConversation } from './listing.ts'
import type { Message } from './message.ts'
import type { Task } from './task.ts'
import type { DraftPiece, Turn } from './turn.ts'

/** Where to begin to follow, and when to end. */
export interface FollowOptions {
  /** The cursor of the last event that was handled. Follows from there, without a gap or a duplicate, at any
   *  later time and in any process. Default: from now on, with the turns that are open now. */
  readonly after?: string
  /** Ends the iteration without an error, also while it waits. `return` of the iterator waits for the next
   *  event. */
  readonly signal?: AbortSignal
  /** `preview` returns only the beginning of blobs. Default: `whole`. */
  readonly blobs?: 'whole' | 'preview'
}

/** What every event says of itself. */
export interface FollowMark {
  /** Pass it as `after` to continue behind this event. */
  readonly cursor: string
  /** True while the iteration catches up: the event was stored before it began, or with more others than one
   *  read returns. A consumer may take such events at its own pace. */
  readonly isReplay: boolean
}

/** A change of a followed conversation. */
export type FollowEvent = FollowMark & FollowChange

/** What has changed. Messages come once each, in order of seq, and `erased` once for each erasure. The other
 *  kinds are states: the newest one
 *  replaces the earlier ones. */
export type FollowChange =
  | {
      /** A message was stored. */
      readonly type: 'message'
      /** The message. */
      readonly message: Message
    }
  | {
      /** The content of a message that was delivered before was erased. */
      readonly type: 'erased'
      /** The message without its content, with `erased` set. */
      readonly message: Message
    }
  | {
      /** A call asks for an approval, or was answered. */
      readonly type: 'approval'
      /** The approval as it is now. */
      readonly approval: StoredApproval
    }
  | {
      /** A turn began, continued or ended. */
      readonly type: 'turn'
      /** The turn as it is now. */
      readonly turn: Turn
    }
  | {
      /** Pieces of an unfinished answer arrived. */
      readonly type: 'draft'
      /** The turn that is answered. */
      readonly turn: Turn
      /** The pieces that are new since the event before, in order of `n`. If the first one has n = 0, an
       *  answer begins. */
      readonly pieces: readonly DraftPiece[]
    }
  | {
      /** A branch was created, moved or changed. */
      readonly type: 'branch'
      /** The branch as it is now. */
      readonly branch: Branch
    }
  | {
      /** A branch was deleted or renamed. */
      readonly type: 'branch_deleted'
      /** Its former name. */
      readonly name: string
    }
  | {
      /** All branches. The first event of an iteration without a cursor, and after a cursor if branches have
       *  changed since. */
      readonly type: 'branches'
      /** Oldest first, at most 1,000. */
      readonly branches: readonly Branch[]
    }
  | {
      /** A field of the conversation has changed: title, model, trash … */
      readonly type: 'conversation'
      /** The conversation as it is now. */
      readonly conversation: Conversation
    }
  | {
      /** The conversation was purged. The iteration ends. */
      readonly type: 'gone'
      /** The id of the conversation. */
      readonly conversationId: ConversationId
    }

/** Where to begin to follow activity, and when to end. */
export interface FollowActivityOptions {
  /** The cursor of the last event that was handled. Default: from `since` on. */
  readonly after?: string
  /** Begins with activity up to a minute before this time. Default: from now on. */
  readonly since?: Date
  /** Ends the iteration without an error, also while it waits. */
  readonly signal?: AbortSignal
}

/** A conversation with new activity. */
export interface ActivityEvent extends FollowMark {
  /** The conversation with its active branch. */
  readonly conversation: ListedConversation
}

/** A task that has changed. Events are states: the newest one of a task replaces the earlier ones. */
export type TaskEvent = FollowMark &
  (
    | {
        /** A task was submitted, dispatched, claimed, ended or cancelled. */
        readonly type: 'task'
        /** The task as it is now. */
        readonly task: Task
      }
    | {
        /** A task was deleted. */
        readonly type: 'task_deleted'
        /** Its id. */
        readonly id: string
      }
  )

/** Follows changes, also those of other processes. */
export interface Follower {
  /** Changes of a conversation as they happen. Writes of this process arrive at once; those of others are
   *  found by reading versions four times a second, and ten times while an answer streams. However many
   *  iterations follow, a change is read once. Throws NotFoundError if the conversation does not exist. A
   *  text that is not a cursor is refused by the call itself, with InvalidError; this holds for the other
   *  two as well. */
  follow(id: ConversationId, options?: FollowOptions): AsyncIterable<FollowEvent>
  /** Activity in all conversations of the tenant. Clocks and commits may be out of order, so a cursor looks
   *  back one minute: after a reconnect an activity may be repeated, but none is missing. */
  followActivity(options?: FollowActivityOptions): AsyncIterable<ActivityEvent>
  /** Changes of the tenant's tasks. A state that lasts less than a quarter of a second may be left out. A
   *  cursor looks back one minute: after a reconnect an event may be repeated. Of the tasks that ended
   *  meanwhile, those without a conversation are found among the newest hundred that failed and that were
   *  cancelled. */
  followTasks(options?: FollowActivityOptions): AsyncIterable<TaskEvent>
}
