import { z } from 'zod'
import { idSchema } from './values.ts'

/** The result of an append. */
export const appendedSchema = z
  .strictObject({
    branch: z.string().describe('the branch that was written: the sibling, if one was created'),
    head: idSchema,
    ids: z.array(idSchema).describe('of the messages, in the order given'),
    outcome: z
      .enum(['appended', 'forked', 'replayed'])
      .describe('replayed: a retry of a request that had been stored'),
  })
  .meta({ id: 'Appended', description: 'The result of an append.' })

/** What a text refers to. */
export const resolvedSchema = z
  .strictObject({
    conversation: idSchema,
    branch: z.string(),
    message: idSchema.nullable().describe('null if the text names a conversation or a branch'),
  })
  .meta({ id: 'Resolved', description: 'What an id, a prefix of one, a key or id:branch refers to.' })

/** The result of a request that deletes or resets (S2-53). */
export const doneSchema = z
  .strictObject({ success: z.literal(true), message: z.string() })
  .meta({ id: 'Done', description: 'The request has succeeded.' })

/** The result of a reset: the branches. */
export const resetDoneSchema = z
  .strictObject({
    success: z.literal(true),
    message: z.string(),
    conversation: idSchema,
    branch: z.string(),
    archived: z
      .string()
      .nullable()
      .describe(
        'the branch with the messages; null if there were none and the request had no Idempotency-Key',
      ),
  })
  .meta({ id: 'ResetDone', description: 'The branch is empty now.' })

/** A turn that has begun. */
export const askedSchema = z
  .strictObject({ turn: z.string().describe('the key of the turn'), branch: z.string() })
  .meta({ id: 'Asked', description: 'A turn has begun. It continues when the connection is closed.' })
