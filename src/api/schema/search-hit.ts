import { z } from 'zod'
import { countSchema, idSchema, roleSchema, timeSchema } from './values.ts'

/** A message that matches a query. */
export const searchHitSchema = z
  .strictObject({
    message: idSchema,
    conversation: idSchema,
    branch: z.string().nullable(),
    title: z.string().nullable(),
    role: roleSchema,
    kind: z.enum(['text', 'thinking', 'tool_call', 'tool_result', 'file']),
    created_at: timeSchema,
    snippet: z.string(),
    marks: z
      .array(z.tuple([countSchema, countSchema]))
      .describe('positions of the words in the snippet: from, to, in UTF-16 units'),
    directory: z.string().nullable(),
  })
  .meta({ id: 'SearchHit', description: 'A message that matches a query.' })
