import { z } from 'zod'
import type { Shape } from './json-shapes.ts'

const id = z.string().describe('full id')
const time = z.iso.datetime()
const count = z.int().nonnegative()

export const toolResults = z
  .union([z.enum(['full', 'metadata']), count])
  .describe('how tool results are stored; a number: cut to so many characters')

/** The commands that set a conversation's properties, reset a branch and list events. */
export const manageShapes: Readonly<Record<string, readonly Shape[]>> = {
  events: [
    {
      typed: 'skein events <id> --json',
      schema: z.strictObject({
        conversation: id,
        events: z.array(
          z.strictObject({
            n: count.describe('its number in the conversation'),
            type: z.string(),
            created_at: time,
            data: z.record(z.string(), z.unknown()),
          }),
        ),
        next: z.string().nullable().describe('for --after; null on the last page'),
      }),
      note: 'Newest first.',
    },
  ],
  tag: [
    {
      typed: 'skein tag <id> <tag>… --json',
      schema: z.strictObject({
        conversation: id,
        tags: z.array(z.string()),
        before: z.array(z.string()),
      }),
    },
  ],
  set: [
    {
      typed: 'skein set <id> --task <id> --json',
      schema: z.strictObject({
        conversation: id,
        task: z.string().nullable(),
        project: z.string().nullable(),
        expires_at: time.nullable(),
        ttl_ms: count.nullable().describe('activity sets the expiry to this long after it'),
        metadata: z.record(z.string(), z.unknown()),
        tool_results: toolResults,
        tags: z.array(z.string()),
      }),
    },
  ],
  reset: [
    {
      typed: 'skein reset <id> --json',
      schema: z.strictObject({
        conversation: id,
        branch: z.string(),
        archived: z.string().nullable().describe('the branch with the messages; null if there were none'),
      }),
    },
  ],
}
