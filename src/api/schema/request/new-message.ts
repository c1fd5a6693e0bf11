import { z } from 'zod'
import { otherBlockSchema } from '../block.ts'
import { countSchema, metadataSchema, timeSchema } from '../values.ts'

/** Absent and null mean the same, so that a block that was read can be sent back. */
const fields = {
  mime: z.string().nullish(),
  modality: z.enum(['text', 'image', 'audio', 'video']).nullish(),
  meta: metadataSchema.nullish().describe('data of the provider or the caller'),
}

/** A block of a known type to store. */
const newKnownBlockSchema = z
  .union([
    z.strictObject({ type: z.enum(['text', 'thinking']), text: z.string(), ...fields }),
    z.strictObject({
      type: z.literal('tool_call'),
      call_id: z.string(),
      name: z.string(),
      input: z.unknown().describe('the arguments, usually an object'),
      ...fields,
    }),
    z.strictObject({
      type: z.literal('tool_result'),
      call_id: z.string(),
      name: z.string().nullish(),
      output: z.unknown().describe('a text or any JSON'),
      is_error: z.boolean().nullish(),
      ...fields,
    }),
    z.strictObject({
      type: z.enum(['image', 'audio', 'video', 'file']),
      ...fields,
      mime: z.string(),
      data: z.string().nullish().describe('base64'),
      url: z.string().nullish(),
      name: z.string().nullish(),
    }),
  ])
  .meta({ id: 'NewBlock', description: 'A block to store.' })

/** The blocks of a message to store. */
export const newBlocksSchema = z.array(z.union([newKnownBlockSchema, otherBlockSchema])).min(1)

/** A block to store. */
export type NewBlockBody = z.output<typeof newBlocksSchema>[number]

/** A message to store. */
export const newMessageSchema = z
  .strictObject({
    role: z
      .enum(['user', 'assistant', 'tool_result', 'system', 'tool', 'developer'])
      .describe('tool is stored as tool_result, developer as system'),
    content: z
      .string({ error: 'must be a text: a list of blocks is given as blocks' })
      .optional()
      .describe('a text; or give blocks'),
    blocks: newBlocksSchema.optional(),
    metadata: metadataSchema.nullish().describe("the caller's own data, part of the hash"),
    created_at: timeSchema.optional().describe('default: now'),
    tokens: countSchema.optional().describe('default: characters / 4'),
    label: z.string().nullish(),
  })
  .refine(hasOneContent, { error: 'give either content or blocks', path: ['content'] })
  .meta({ id: 'NewMessage', description: 'A message to store: a text, or blocks.' })

/** A message to store. */
export type NewMessageBody = z.output<typeof newMessageSchema>

function hasOneContent(body: { readonly content?: unknown; readonly blocks?: unknown }): boolean {
  return (body.content === undefined) !== (body.blocks === undefined)
}

/** The body of an append. */
export const appendSchema = z
  .strictObject({
    branch: z.string().optional().describe('default: the active branch'),
    expected_head: z
      .string()
      .nullish()
      .describe('refuses the append if the branch has another head; null: it is empty. Default: any head'),
    messages: z.array(newMessageSchema).min(1).max(10_000),
    on_conflict: z
      .enum(['refuse', 'fork'])
      .optional()
      .describe('if the branch has moved or is held: refuse (default), or append to a new sibling branch'),
  })
  .meta({ id: 'Append', description: 'Messages to append to a branch.' })

/** The body of a request to a model. */
export const askSchema = z
  .strictObject({
    branch: z.string().optional().describe('default: the active branch'),
    at: z.string().optional().describe('a message: asks on a new branch that continues there'),
    content: z.string().optional().describe('the prompt; or give blocks'),
    blocks: newBlocksSchema.optional(),
    model: z.string().optional().describe('default: the model of the conversation'),
  })
  .refine(hasOneContent, { error: 'give either content or blocks', path: ['content'] })
  .refine(({ branch, at }) => branch === undefined || at === undefined, {
    error: 'give either branch or at',
    path: ['at'],
  })
  .meta({ id: 'Ask', description: 'A prompt for a model.' })
