import { z } from 'zod'

const meta = z.record(z.string(), z.unknown()).nullable()
const mime = z.string().nullable()

/** A block as `show --json` prints it. Blocks of unknown types are printed as they were stored. */
const block = z.union([
  z.strictObject({ type: z.enum(['text', 'thinking']), mime, text: z.string(), meta }),
  z.strictObject({
    type: z.literal('tool_call'),
    mime,
    call_id: z.string(),
    name: z.string(),
    input: z.unknown(),
    meta,
  }),
  z.strictObject({
    type: z.literal('tool_result'),
    mime,
    call_id: z.string(),
    name: z.string().nullable(),
    output: z.unknown(),
    is_error: z.boolean(),
    meta,
  }),
  z.strictObject({
    type: z.enum(['image', 'audio', 'video', 'file']),
    mime,
    data: z.base64().nullable(),
    url: z.string().nullable(),
    name: z.string().nullable(),
    meta,
  }),
])

const count = z.int().nonnegative()

/** A message as `show --json` prints it. */
export const message = z.strictObject({
  id: z.string().describe('full id'),
  parent: z.string().nullable(),
  seq: count.describe('its position in the conversation'),
  role: z.enum(['user', 'assistant', 'tool_result', 'system']),
  created_at: z.iso.datetime(),
  status: z.enum(['complete', 'open', 'interrupted', 'failed']),
  stop: z
    .enum(['length', 'filtered', 'refused'])
    .nullable()
    .describe('why a complete answer is not whole; null if it is'),
  model: z.string().nullable(),
  usage: z
    .strictObject({
      input: count.nullable(),
      output: count.nullable(),
      cache_read: count.nullable(),
      cache_write: count.nullable(),
      reasoning: count.nullable(),
      cost_usd: z.number().nullable(),
    })
    .nullable()
    .describe('usage of the whole turn, at its last answer'),
  label: z.string().nullable(),
  siblings: z
    .array(z.string())
    .describe('a branch name or the first words of each message with the same parent, itself included'),
  blocks: z.array(block).describe('blocks of unknown types are printed as they were stored'),
  tokens: count,
  meta,
  erased: z
    .strictObject({ by: z.string(), reason: z.string(), at: z.iso.datetime() })
    .nullable()
    .describe('its content was removed on purpose'),
})
