import { z } from 'zod'
import { countSchema, idSchema, leaseSchema, metadataSchema, timeSchema } from './values.ts'

/** A work item. */
export const taskSchema = z
  .strictObject({
    id: z.string(),
    project: z.string().nullable(),
    description: z.string(),
    context: z.string().nullable(),
    status: z.enum(['queued', 'running', 'done', 'failed', 'cancelled']),
    dispatch: countSchema.describe('the number of the dispatch with this status'),
    dispatches: countSchema,
    conversation_id: idSchema.nullable(),
    parent: z.string().nullable().describe('the task that filed it'),
    metadata: metadataSchema,
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .meta({ id: 'Task', description: 'A work item with one conversation over all its dispatches.' })

/** One order to work on a task. */
export const dispatchSchema = z
  .strictObject({
    n: countSchema.describe('its number, from 1'),
    words: z.string().nullable().describe('null: description and context'),
    status: z.enum(['waiting', 'queued', 'running', 'done', 'failed', 'cancelled']),
    attempts: countSchema,
    deaths: countSchema.describe('claims in a row whose worker died'),
    worker: z.string().nullable(),
    lease_until: leaseSchema,
    cancel_requested: z.boolean(),
    conversation_id: idSchema.nullable(),
    result: metadataSchema.nullable().describe('as dispatch run prints it'),
    error: z.string().nullable(),
    created_at: timeSchema,
    queued_at: timeSchema.nullable(),
    started_at: timeSchema.nullable(),
    ended_at: timeSchema.nullable(),
  })
  .meta({ id: 'Dispatch', description: 'One order to work on a task: one turn of its conversation.' })

/** The result of deleting tasks. */
export const deletedTasksSchema = z
  .strictObject({
    success: z.literal(true),
    message: z.string(),
    tasks: countSchema,
    trashed: z.array(idSchema).describe('conversations that were moved to the trash'),
  })
  .meta({ id: 'DeletedTasks', description: 'Tasks were deleted, and their conversations are in the trash.' })
