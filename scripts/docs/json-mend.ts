import { z } from 'zod'
import type { Shape } from './json-shapes.ts'

const id = z.string().describe('full id')
const count = z.int().nonnegative()

const findings = z.array(
  z.strictObject({
    conversation: z.string().nullable().describe('null if it belongs to the store as a whole'),
    message: z.string().nullable(),
    branch: z.string().nullable(),
    seq: z.int().nullable(),
    reason: z.string(),
    before: count.nullable().describe('messages before it on its path'),
    after: count.nullable().describe('messages that stand on it'),
    standing: z
      .array(z.tuple([count, count]))
      .nullable()
      .describe('those, as first and last seq of stretches'),
  }),
)

/** What the commands that check and mend print. */
export const mendShapes = {
  verify: [
    {
      typed: 'skein verify [<id>…] --json',
      note: 'Exit code 1 if anything is damaged.',
      schema: z.strictObject({
        checked: count.describe('messages'),
        erased: count.describe('on purpose'),
        conversations: count,
        damaged_conversations: count,
        blobs: count,
        counts: z.strictObject({ damage: count, repairable: count, note: count }),
        damaged: findings.describe('words, who said them, when or after what'),
        repairable: findings.describe('what follows from the rest, and can be computed anew'),
        notes: findings.describe('odd, but lawful'),
      }),
    },
  ],
  recover: [
    {
      typed: 'skein recover [<file>] -o <file> --json',
      note: 'Exit code 1 if anything could not be copied as it was.',
      schema: z.strictObject({
        file: z.string(),
        conversations: count,
        whole: count.describe('conversations that were copied as they were'),
        messages: count,
        counts: z.strictObject({ lost: count, emptied: count, rehung: count, other: count }),
        losses: z.array(
          z.strictObject({
            conversation: id,
            message: z.string().nullable(),
            seq: z.int().nullable(),
            kind: z.enum(['lost', 'emptied', 'rehung', 'other']),
            what: z.string(),
            now: z.string().nullable().describe('the new id of what was rehung'),
          }),
        ),
        mended: z.array(z.string()).describe('what kept the file from being opened'),
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
        messages: count.nullable().describe('in the copy; null if it was not checked'),
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
          .describe('false if another process was at the file; null for PostgreSQL'),
      }),
    },
  ],
} satisfies Readonly<Record<string, readonly Shape[]>>
