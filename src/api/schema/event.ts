import { z } from 'zod'
import { countSchema, timeSchema } from './values.ts'

/** A trace record. */
export const eventSchema = z
  .strictObject({
    n: countSchema.describe('its number in the conversation'),
    type: z.string(),
    created_at: timeSchema,
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event', description: 'A trace record. Nothing is rebuilt from events.' })
