import { z } from 'zod'
import { taskStatuses } from '../../../core/task.ts'
import { metadataSchema, timeSchema } from '../values.ts'
import { pageQuery } from './list.ts'

/** The body that submits a task. */
export const newTaskSchema = z
  .strictObject({
    id: z.string().optional().describe('default: T- and the next number'),
    project: z.string().nullish(),
    description: z.string().describe('what to do, up to 1 MiB'),
    context: z.string().nullish().describe('more about the task, up to 1 MiB'),
    parent: z.string().nullish().describe('the task that files it'),
    metadata: metadataSchema.optional(),
  })
  .meta({ id: 'NewTask', description: 'A task to submit.' })

/** The body that submits a task. */
export type NewTaskBody = z.output<typeof newTaskSchema>

/** The body that orders a dispatch. */
export const dispatchRequestSchema = z
  .strictObject({
    words: z
      .string()
      .optional()
      .describe('what the worker is told, up to 1 MiB. Default: description and context'),
    n: z
      .int()
      .min(1)
      .optional()
      .describe('the number that it must have: a retry with it is the same dispatch. Default: the next one'),
    on_busy: z
      .enum(['wait', 'refuse'])
      .optional()
      .describe('if an earlier dispatch has not ended: wait for it (default), or refuse with 409'),
  })
  .meta({ id: 'DispatchRequest', description: 'An order to work on a task.' })

/** The body that orders a dispatch. */
export type DispatchRequestBody = z.output<typeof dispatchRequestSchema>

/** The parameters of a list of tasks. */
export const listTasksQuery = z.strictObject({
  project: z.string().optional(),
  status: z.enum(taskStatuses as ['queued', 'running', 'done', 'failed', 'cancelled']).optional(),
  created_from: timeSchema.optional(),
  created_before: timeSchema.optional(),
  ...pageQuery.shape,
})

/** The parameters of a list of tasks. */
export type ListTasksQuery = z.output<typeof listTasksQuery>

const project = z.string().optional().describe('the project that the task must belong to')

/** The parameters of a request for one task. */
export const inProjectQuery = z.strictObject({ project })

/** The parameters of a list of dispatches. */
export const listDispatchesQuery = z.strictObject({ project, ...pageQuery.shape })
