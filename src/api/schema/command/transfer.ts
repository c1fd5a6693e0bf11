import { z } from 'zod'
import { countSchema as count, recordTallies } from '../index.ts'
import type { CommandShape } from './shape.ts'

const ms = count.describe('duration in milliseconds')

const unreadable = z
  .array(z.strictObject({ conversation: z.string(), what: z.string(), reason: z.string() }))
  .describe('stored data that could not be read; then the exit code is 1')

const bad = z.strictObject({ file: z.string(), line: count, reason: z.string() })

/** The output of the commands that move conversations. */
export const transferShapes: Readonly<Record<string, readonly CommandShape[]>> = {
  export: [
    {
      typed: 'skein export <id> -o <file> --json',
      schema: z.strictObject({
        conversation: z.string().describe('full id'),
        format: z.enum(['markdown', 'html']),
        file: z.string(),
        messages: count,
        branches: count,
        images: count,
        bytes: count,
      }),
    },
    {
      typed: 'skein export <id>… --native -o <file> --json',
      note: '[native-format.md](native-format.md) describes the records.',
      schema: z.strictObject({
        format: z.literal('native'),
        file: z.string(),
        conversations: count,
        messages: count,
        branches: count,
        blobs: count,
        bytes: count,
        unreadable,
      }),
    },
  ],
  import: [
    {
      typed: 'skein import <file>… --json',
      note: 'Exit code 1 if anything was refused; the rest is imported.',
      schema: z.strictObject({
        files: z.array(z.string()),
        ...recordTallies,
        bad: count.describe('refused records, and lines without a record'),
        bad_lines: z.array(bad).describe('the first 1,000 of them'),
        notes: z
          .array(z.strictObject({ file: z.string(), line: count, note: z.string() }))
          .describe('records that were changed by the import, or are unknown'),
        ms,
      }),
    },
  ],
  copy: [
    {
      typed: 'skein copy <from> <to> --json',
      schema: z.strictObject({
        conversations: count.describe('conversations that were examined'),
        ...recordTallies,
        refused_records: z.array(z.string()),
        unreadable,
        notes: z.array(z.string()),
        ms,
      }),
    },
  ],
}
