import { z } from 'zod'
import { countSchema as count, idSchema as id } from '../index.ts'
import type { CommandShape } from './shape.ts'

const findings = z.array(
  z.strictObject({
    conversation: z.string().nullable().describe('null if it concerns the whole store'),
    message: z.string().nullable(),
    branch: z.string().nullable(),
    seq: z.int().nullable(),
    reason: z.string(),
    before: count.nullable().describe('messages before it on its path'),
    after: count.nullable().describe('messages that descend from it'),
    standing: z
      .array(z.tuple([count, count]))
      .nullable()
      .describe('those messages, as ranges of first and last seq'),
  }),
)

/** The output of the commands that check and repair. */
export const repairShapes = {
  verify: [
    {
      typed: 'skein verify [<id>…] --json',
      note: 'Exit code 1 if anything is damaged.',
      schema: z.strictObject({
        checked: count.describe('messages'),
        erased: count.describe('erased on purpose'),
        conversations: count,
        damaged_conversations: count,
        blobs: count,
        counts: z.strictObject({ damage: count, repairable: count, note: count }),
        damaged: findings.describe('content, role, time or parent is wrong'),
        repairable: findings.describe('derived data that can be recomputed'),
        notes: findings.describe('unusual, but valid'),
      }),
    },
  ],
  recover: [
    {
      typed: 'skein recover [<file>] -o <file> --json',
      note: 'Exit code 1 if anything could not be copied unchanged.',
      schema: z.strictObject({
        file: z.string(),
        conversations: count,
        whole: count.describe('conversations that were copied unchanged'),
        messages: count,
        tasks: count,
        counts: z.strictObject({ lost: count, emptied: count, rehung: count, other: count }),
        losses: z.array(
          z.strictObject({
            conversation: id,
            message: z.string().nullable(),
            seq: z.int().nullable(),
            kind: z.enum(['lost', 'emptied', 'rehung', 'other']),
            what: z.string(),
            now: z.string().nullable().describe('the new id of a rehung message'),
          }),
        ),
        mended: z.array(z.string()).describe('faults that prevented opening the file'),
        gaps: z.array(z.strictObject({ table: z.string(), reason: z.string() })),
        ms: count,
      }),
    },
  ],
  backup: [
    {
      typed: 'skein backup <file> --json',
      schema: z.strictObject({
        file: z.string(),
        bytes: count,
        verified: z.boolean(),
        messages: count.nullable().describe('messages in the copy; null if it was not verified'),
        ms: count,
      }),
    },
  ],
  erase: [
    {
      typed: 'skein erase <id>… --reason <text> --yes --json',
      schema: z.strictObject({
        erased: count,
        already_erased: count,
        messages: z.array(id),
        by: z.string(),
        reason: z.string(),
        gone_from_file: z
          .boolean()
          .nullable()
          .describe('false if another process had the file open; null for PostgreSQL'),
        erased_titles: count.describe('automatic titles that repeated an erased message'),
        erased_summaries: count,
        renamed_branches: z
          .array(z.string())
          .describe('new names of branches whose names repeated the words'),
        erased_events: count.describe('trace events that quoted an erased message'),
        input_lines: count
          .nullable()
          .describe('lines removed from the input history; null if it is read-only'),
        remains: z
          .array(z.enum(['file', 'log', 'dead_rows', 'backups']))
          .describe('where the words may still be'),
      }),
    },
  ],
} satisfies Readonly<Record<string, readonly CommandShape[]>>
