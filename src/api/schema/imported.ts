import { z } from 'zod'
import { countSchema } from './values.ts'

const amounts = z.strictObject({
  conversation: countSchema,
  message: countSchema,
  tombstone: countSchema.describe('deleted messages'),
  blob: countSchema,
  turn: countSchema,
  draft: countSchema,
  summary: countSchema,
  event: countSchema,
  branch: countSchema,
  agent_link: countSchema,
  task: countSchema,
})

/** What an import has done, by kind of record. */
export const recordTallies = {
  added: amounts,
  present: amounts.describe('existed already, and is unchanged'),
  advanced: amounts.describe(
    'existed in an earlier state: a branch that has moved forward, a turn that has ended',
  ),
  refused: amounts,
}

/** The result of an import over HTTP. */
export const importedSchema = z
  .strictObject({
    ...recordTallies,
    bad: countSchema.describe('refused records, and lines without a record'),
    bad_lines: z
      .array(z.strictObject({ line: countSchema, reason: z.string() }))
      .describe('the first 1,000 of them'),
    notes: z
      .array(z.strictObject({ line: countSchema, note: z.string() }))
      .describe('records that were changed by the import, or are unknown'),
  })
  .meta({ id: 'Imported', description: 'What an import has done, by kind of record.' })
