import { z } from 'zod'
import { countSchema, idSchema, timeSchema } from './values.ts'

/** A branch as a list of branches shows it. */
export const branchSchema = z
  .strictObject({
    name: z.string(),
    active: z.boolean(),
    head: idSchema.nullable(),
    key: z.string().nullable(),
    title: z.string().nullable(),
    base: idSchema
      .nullable()
      .describe('the last message that it shares with the oldest branch; null for that one'),
    own_messages: countSchema.describe('messages that are on no other branch'),
    path_messages: countSchema,
    created_at: timeSchema,
    updated_at: timeSchema,
    prompt: z.strictObject({ id: idSchema, text: z.string() }).nullable().describe('the last prompt on it'),
  })
  .meta({ id: 'Branch', description: 'A named pointer to a message, with what is on its path.' })

/** A branch by itself. */
export const branchHeadSchema = z
  .strictObject({
    conversation: idSchema,
    name: z.string(),
    head: idSchema.nullable(),
    key: z.string().nullable(),
    former_key: z
      .string()
      .nullable()
      .describe('the key that it had until it was trashed or reset, or until it expired'),
    title: z.string().nullable(),
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .meta({ id: 'BranchHead', description: 'A named pointer to a message.' })
