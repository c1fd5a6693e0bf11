import { z } from 'zod'
import { countSchema, idSchema, timeSchema } from './values.ts'

/** A stored text that represents a range of a path. */
export const summarySchema = z
  .strictObject({
    id: z.string(),
    from: idSchema,
    to: idSchema,
    text: z.string(),
    model: z.string().nullable(),
    tokens: countSchema,
    created_at: timeSchema,
  })
  .meta({ id: 'Summary', description: 'A stored text that represents a range of a path.' })
