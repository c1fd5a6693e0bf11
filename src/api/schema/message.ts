import { z } from 'zod'
import { blockSchema, otherBlockSchema } from './block.ts'
import { usageSchema } from './usage.ts'
import { countSchema, idSchema, nullOr, roleSchema, timeSchema } from './values.ts'

const place = {
  id: idSchema,
  parent: idSchema.nullable(),
  seq: countSchema.describe('its position in the conversation'),
  role: roleSchema,
  created_at: timeSchema,
}

const stop = z
  .enum(['length', 'filtered', 'refused'])
  .nullable()
  .describe('why a complete answer is not whole; null if it is')

const content = {
  blocks: z
    .array(z.union([blockSchema, otherBlockSchema]))
    .describe('blocks of unknown types are printed as they were stored'),
  tokens: countSchema,
  meta: z.record(z.string(), z.unknown()).nullable(),
  erased: z
    .strictObject({ by: z.string(), reason: z.string(), at: timeSchema })
    .nullable()
    .describe('its content was removed on purpose'),
  conversation: idSchema,
  depth: countSchema.describe('the number of messages before it on its path'),
  plain: z.boolean().describe('its content was given as a plain string'),
  turn: countSchema.nullable().describe('the turn of the message: the seq of its first message'),
  blobs: z
    .array(
      z.strictObject({
        hash: z.string(),
        bytes: countSchema,
        pointer: z.string().describe('its position: a JSON pointer into {blocks, meta}'),
        whole: z.boolean().describe('false if the message has only its beginning'),
      }),
    )
    .describe('large parts, each stored once under its hash'),
}

/** A message by itself, without its path. */
export const storedMessageSchema = z
  .strictObject({ ...place, stop, label: z.string().nullable(), ...content })
  .meta({ id: 'StoredMessage', description: 'A message by itself, without facts of a path.' })

/** A message of a path. */
export const messageSchema = z
  .strictObject({
    ...place,
    status: z.enum(['complete', 'open', 'interrupted', 'failed']),
    stop,
    model: z.string().nullable(),
    usage: nullOr(usageSchema).describe('usage of the whole turn, at its last answer'),
    label: z.string().nullable(),
    siblings: z
      .array(z.string())
      .describe('a branch name or the first words of each message with the same parent, itself included'),
    ...content,
    sibling_ids: z
      .array(idSchema)
      .describe('the messages with the same parent, itself included, oldest first; empty without siblings'),
  })
  .meta({ id: 'Message', description: 'A message of a path.' })
