import { z } from 'zod'

/** The body that sets a label. */
export const labelSchema = z
  .strictObject({ label: z.string().nullable().describe('null removes it') })
  .meta({ id: 'Label', description: 'The label of a message.' })

/** The body that erases the content of a message. */
export const eraseSchema = z
  .strictObject({
    reason: z.string(),
    by: z.string().optional().describe('default: the name of the token'),
  })
  .meta({ id: 'Erase', description: 'Why the content is removed. Its place and hash remain.' })

/** The parameters of a deletion. */
export const deleteMessageQuery = z.strictObject({
  recursive: z.enum(['true', 'false']).optional().describe('also deletes the messages below it'),
  reason: z.string().optional(),
})
