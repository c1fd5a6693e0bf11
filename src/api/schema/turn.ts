import { z } from 'zod'
import { usageSchema } from './usage.ts'
import { countSchema, leaseSchema, timeSchema } from './values.ts'

/** A turn: a prompt and everything that follows until the agent returns control. */
export const turnSchema = z
  .strictObject({
    key: z.string().describe('names the turn in its conversation'),
    branch: z.string(),
    status: z.enum(['open', 'complete', 'interrupted', 'failed']),
    live: z.boolean().describe('it is open, and its process is not known to have died'),
    first: countSchema.describe('the seq of its first message'),
    last: countSchema.describe('the seq of its last message'),
    last_step: countSchema.describe('the number of its last write'),
    model: z.string().nullable(),
    prompt_hash: z.string().nullable().describe('SHA-256 of the system prompt, in hexadecimal'),
    usage: usageSchema,
    lease_until: leaseSchema,
    started_at: timeSchema,
    ended_at: timeSchema.nullable(),
  })
  .meta({ id: 'Turn', description: 'A prompt and everything that follows until the agent returns control.' })

/** A piece of an unfinished answer. */
export const draftPieceSchema = z
  .strictObject({
    n: countSchema.describe('counted from 0 within the step'),
    type: z.enum(['text', 'thinking']),
    text: z.string(),
  })
  .meta({ id: 'DraftPiece', description: 'A piece of an unfinished answer.' })
