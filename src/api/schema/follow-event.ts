import { z } from 'zod'
import { approvalSchema } from './approval.ts'
import { branchHeadSchema } from './branch.ts'
import { storedMessageSchema } from './message.ts'
import { taskSchema } from './task.ts'
import { draftPieceSchema, turnSchema } from './turn.ts'
import { countSchema, idSchema, timeSchema } from './values.ts'

const conversation = idSchema.describe('the followed conversation')

const messageEventSchema = z
  .strictObject({ type: z.literal('message'), conversation, message: storedMessageSchema })
  .meta({ id: 'FollowMessage', description: 'A message was stored. Each one comes once, in order of `seq`.' })

const erasedEventSchema = z
  .strictObject({ type: z.literal('erased'), conversation, message: storedMessageSchema })
  .meta({ id: 'FollowErased', description: 'The content of a message that was sent before is erased.' })

const approvalEventSchema = z
  .strictObject({ type: z.literal('approval'), conversation, approval: approvalSchema })
  .meta({ id: 'FollowApproval', description: 'A call asks for an approval, or was answered.' })

const turnChangeSchema = z
  .strictObject({ type: z.literal('turn'), conversation, turn: turnSchema })
  .meta({ id: 'FollowTurn', description: 'A turn began, continued or ended.' })

const draftEventSchema = z
  .strictObject({
    type: z.literal('draft'),
    conversation,
    turn: turnSchema,
    pieces: z.array(draftPieceSchema).describe('new since the event before; n = 0 begins an answer'),
  })
  .meta({
    id: 'FollowDraft',
    description: 'Pieces of an answer that is not stored yet. The message replaces them.',
  })

const branchEventSchema = z
  .strictObject({ type: z.literal('branch'), conversation, branch: branchHeadSchema })
  .meta({ id: 'FollowBranch', description: 'A branch was created, moved or changed.' })

const branchDeletedSchema = z
  .strictObject({
    type: z.literal('branch_deleted'),
    conversation,
    name: z.string().describe('its former name'),
  })
  .meta({ id: 'FollowBranchDeleted', description: 'A branch was deleted or renamed.' })

const branchesEventSchema = z
  .strictObject({ type: z.literal('branches'), conversation, branches: z.array(branchHeadSchema) })
  .meta({
    id: 'FollowBranches',
    description:
      'All branches, at most 1,000. The first event of a conversation, and after a reconnect if branches ' +
      'have changed.',
  })

const conversationEventSchema = z
  .strictObject({
    type: z.literal('conversation'),
    conversation,
    version: countSchema,
    title: z.string().nullable(),
    model: z.string().nullable(),
    active_branch: z.string(),
    updated_at: timeSchema,
    trashed_at: timeSchema.nullable().describe('null outside the trash'),
  })
  .meta({ id: 'FollowConversation', description: 'A field of the conversation has changed.' })

const goneEventSchema = z
  .strictObject({ type: z.literal('gone'), conversation })
  .meta({ id: 'FollowGone', description: 'The conversation was purged. It has no further events.' })

/** A change of a followed conversation. */
export const followEventSchema = z.discriminatedUnion('type', [
  messageEventSchema,
  erasedEventSchema,
  approvalEventSchema,
  turnChangeSchema,
  draftEventSchema,
  branchEventSchema,
  branchDeletedSchema,
  branchesEventSchema,
  conversationEventSchema,
  goneEventSchema,
])

/** Activity in a conversation of the tenant. */
export const activitySchema = z
  .strictObject({
    type: z.literal('activity'),
    conversation: idSchema,
    version: countSchema,
    title: z.string().nullable(),
    updated_at: timeSchema,
    trashed_at: timeSchema.nullable(),
    last: z
      .strictObject({ id: idSchema, text: z.string() })
      .nullable()
      .describe('the last message of the active branch'),
  })
  .meta({ id: 'Activity', description: 'A conversation has changed. May be repeated after a reconnect.' })

const taskChangedSchema = z
  .strictObject({ type: z.literal('task'), task: taskSchema })
  .meta({ id: 'TaskChanged', description: 'A task has changed. The newest event of a task is its state.' })

const taskGoneSchema = z
  .strictObject({ type: z.literal('task_deleted'), id: z.string() })
  .meta({ id: 'TaskDeleted', description: 'A task was deleted.' })

/** A change of a task. */
export const taskEventSchema = z.discriminatedUnion('type', [taskChangedSchema, taskGoneSchema])

/** The end of a stream. */
export const closingEventSchema = z
  .strictObject({
    type: z.literal('closing'),
    reason: z
      .enum(['shutdown', 'timeout'])
      .describe('the process shuts down; or the stream is 15 minutes old, or its token has expired'),
  })
  .meta({
    id: 'Closing',
    description:
      'The stream ends. It is the only event without an id: reconnect with the id of the event before it. ' +
      'A stream without it was cut.',
  })

/** The data of an event of `GET /follow`. */
export const followStreamSchema = z
  .discriminatedUnion('type', [
    activitySchema,
    ...followEventSchema.options,
    ...taskEventSchema.options,
    closingEventSchema,
  ])
  .meta({
    id: 'FollowStreamEvent',
    description:
      'The data of an event of `GET /follow`. The name of the event is its `type`. A newer service may send ' +
      'other types: ignore them.',
  })
