import { z } from 'zod'
import { countSchema, idSchema, timeSchema } from './values.ts'

/** A range of messages without a fork. */
export const stretchSchema = z
  .strictObject({
    first: idSchema,
    last: idSchema,
    first_seq: countSchema,
    last_seq: countSchema.describe('the messages between have the seqs between'),
    parent: idSchema.nullable().describe('the parent of its first message; null for a root'),
    parent_seq: countSchema.nullable(),
    messages: countSchema,
    tokens: countSchema,
    started_at: timeSchema.describe('the time of the first message'),
    ended_at: timeSchema.describe('the time of the last message'),
  })
  .meta({
    id: 'Stretch',
    description: 'A range of messages on one path without a fork between them: the unit of a structure.',
  })
