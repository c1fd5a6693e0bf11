import { z } from 'zod'
import { countSchema } from './values.ts'

/** The kinds of tokens that providers report. */
export const tokenKinds = {
  input: countSchema.nullable(),
  output: countSchema.nullable(),
  cache_read: countSchema.nullable(),
  cache_write: countSchema.nullable(),
  reasoning: countSchema.nullable(),
}

/** Tokens and cost as charged by a provider. */
export const usageSchema = z
  .strictObject({ ...tokenKinds, cost_usd: z.number().nullable() })
  .meta({ id: 'Usage', description: 'Tokens and cost as charged by a provider; null if not reported.' })
