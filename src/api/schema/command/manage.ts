import { z } from 'zod'
import {
  approvalSchema,
  approvalsSchema,
  countSchema as count,
  eventSchema,
  idSchema as id,
  metadataSchema,
  timeSchema as time,
  toolResultsSchema,
} from '../index.ts'
import type { CommandShape } from './shape.ts'

/** The commands that set a conversation's properties, reset a branch and list events. */
export const manageShapes: Readonly<Record<string, readonly CommandShape[]>> = {
  events: [
    {
      typed: 'skein events <id> --json',
      schema: z.strictObject({
        conversation: id,
        events: z.array(eventSchema),
        next: z.string().nullable().describe('for --after; null on the last page'),
      }),
      note: 'Newest first.',
    },
  ],
  approvals: [
    { typed: 'skein approvals --json', schema: approvalsSchema },
    { typed: 'skein approvals approve <id> --json', schema: approvalSchema },
    {
      typed: 'skein approvals remembered --json',
      schema: z.strictObject({
        remembered: z.array(
          z.strictObject({
            id: z.string(),
            project: z.string(),
            conversation: z.string().nullable().describe('null: in the whole project'),
            scope: z.string().describe('which calls it covers'),
            at: time,
          }),
        ),
      }),
    },
    {
      typed: 'skein approvals forget <id> --json',
      schema: z.strictObject({ forgotten: z.array(z.string()) }),
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
        metadata: metadataSchema,
        tool_results: toolResultsSchema,
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
