import { z } from 'zod'
import { countSchema } from './values.ts'

/** A piece of an unfinished answer. */
export const draftPieceSchema = z
  .strictObject({
    n: countSchema.describe('counted from 0 within the step'),
    type: z.enum(['text', 'thinking']),
    text: z.string(),
  })
  .meta({ id: 'DraftPiece', description: 'A piece of an unfinished answer.' })
