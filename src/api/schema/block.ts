import { z } from 'zod'
import { isKnown } from '../../core/block.ts'

const meta = z.record(z.string(), z.unknown()).nullable()

/** The fields of every known block. */
const fields = {
  mime: z.string().nullable(),
  modality: z.enum(['text', 'image', 'audio', 'video']).nullable(),
  meta,
}

/** A block of a type that this version knows. */
export const blockSchema = z
  .union([
    z.strictObject({ type: z.enum(['text', 'thinking']), text: z.string(), ...fields }),
    z.strictObject({
      type: z.literal('tool_call'),
      call_id: z.string(),
      name: z.string(),
      input: z.unknown(),
      ...fields,
    }),
    z.strictObject({
      type: z.literal('tool_result'),
      call_id: z.string(),
      name: z.string().nullable(),
      output: z.unknown(),
      is_error: z.boolean(),
      ...fields,
    }),
    z.strictObject({
      type: z.enum(['image', 'audio', 'video', 'file']),
      data: z.base64().nullable(),
      url: z.string().nullable(),
      name: z.string().nullable(),
      ...fields,
    }),
  ])
  .meta({ id: 'Block', description: 'A typed part of a message.' })

/** A block of a type that this version does not know. */
export const otherBlockSchema = z
  .looseObject({ type: z.string() })
  .refine(block => !isKnown(block), { error: 'is not a block of this type', path: ['type'], abort: true })
  .meta({ id: 'OtherBlock', description: 'A block of a type that this version does not know, unchanged.' })
