import { z } from 'zod'
import { approvalSchema } from './approval.ts'
import { branchHeadSchema } from './branch.ts'
import { storedMessageSchema } from './message.ts'
import { taskSchema } from './task.ts'
import { draftPieceSchema, turnSchema } from './turn.ts'
import { countSchema, idSchema, timeSchema } from './values.ts'

const conversation = idSchema.describe('the followed conversation')

/** A change of a followed conversation. */
export const followEventSchema = z
  .union([
    z.strictObject({ type: z.literal('message'), conversation, message: storedMessageSchema }),
    z.strictObject({
      type: z.literal('erased').describe('the content of a message that was sent before is erased'),
      conversation,
      message: storedMessageSchema,
    }),
    z.strictObject({
      type: z.literal('approval').describe('a call asks for an approval, or was answered'),
      conversation,
      approval: approvalSchema,
    }),
    z.strictObject({ type: z.literal('turn'), conversation, turn: turnSchema }),
    z.strictObject({
      type: z.literal('draft'),
      conversation,
      turn: turnSchema,
      pieces: z.array(draftPieceSchema).describe('new since the event before; n = 0 begins an answer'),
    }),
    z.strictObject({ type: z.literal('branch'), conversation, branch: branchHeadSchema }),
    z.strictObject({ type: z.literal('branch_deleted'), conversation, name: z.string() }),
    z.strictObject({ type: z.literal('branches'), conversation, branches: z.array(branchHeadSchema) }),
    z.strictObject({
      type: z.literal('conversation'),
      conversation,
      version: countSchema,
      title: z.string().nullable(),
      model: z.string().nullable(),
      active_branch: z.string(),
      updated_at: timeSchema,
      trashed_at: timeSchema.nullable(),
    }),
    z.strictObject({ type: z.literal('gone'), conversation }),
  ])
  .meta({ id: 'FollowEvent', description: 'A change of a followed conversation.' })

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

/** A change of a task. */
export const taskEventSchema = z
  .union([
    z.strictObject({ type: z.literal('task'), task: taskSchema }),
    z.strictObject({ type: z.literal('task_deleted'), id: z.string() }),
  ])
  .meta({ id: 'TaskEvent', description: 'A task has changed. The newest event of a task is its state.' })
