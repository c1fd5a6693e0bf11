import { z } from 'zod'
import { countSchema, dollarsSchema } from './values.ts'

const totals = {
  turns: countSchema,
  input: countSchema,
  output: countSchema,
  cost_usd: dollarsSchema,
  unpriced_tokens: countSchema,
}

/** Messages, usage and cost of a store. */
export const statsSchema = z
  .strictObject({
    last_30_days: z.strictObject({ conversations: countSchema, messages: countSchema, ...totals }),
    all: z.strictObject({ conversations: countSchema, messages: countSchema, ...totals }),
    days: z.array(z.strictObject({ day: z.string().describe('local day'), ...totals })),
    models: z.array(z.strictObject({ model: z.string(), ...totals })),
    agents: z
      .array(z.strictObject({ agent: z.string(), ...totals }))
      .describe('agents of other programs, which name no model'),
    trashed_conversations: countSchema,
    blobs: z.strictObject({ count: countSchema, bytes: countSchema }),
    sizes: z
      .array(z.strictObject({ name: z.string(), bytes: countSchema }))
      .describe('file, log, search index; for PostgreSQL its tables'),
  })
  .meta({ id: 'Stats', description: 'Messages, usage and cost of a store.' })
