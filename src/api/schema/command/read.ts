import { z } from 'zod'
import {
  branchSchema,
  conversationSchema,
  countSchema as count,
  dollarsSchema as dollars,
  idSchema as id,
  messageSchema,
  roleSchema as role,
  searchHitSchema,
  statsSchema,
  summarySchema,
  timeSchema as time,
  tokenKinds,
  tokenSchema,
} from '../index.ts'
import type { CommandShape } from './shape.ts'

const answer = z.strictObject({
  conversation: id.nullable().describe('null with --incognito'),
  branch: z.string().nullable(),
  message: id.nullable().describe('the answer'),
  parent: id.nullable(),
  resumed: z
    .enum(['continued', 'new', 'forked', 'fresh'])
    .describe('fresh: a conversation to continue was requested, and there was none'),
  status: z.enum(['complete', 'interrupted', 'failed']),
  stop: z
    .enum(['stop', 'tool_calls', 'length', 'filtered', 'refused', 'other', 'steps', 'approval', 'aborted'])
    .nullable()
    .describe('why it ended; length, filtered and refused: the answer is not whole; null if the turn failed'),
  text: z.string(),
  model: z.string(),
  usage: z.strictObject(tokenKinds),
  cost_usd: dollars,
  context: z
    .strictObject({ used: count, window: count, limit: count, left_out: count, summarised: count })
    .nullable()
    .describe('tokens of the last call, and messages that it left out; null if there was no call'),
  saved: z.boolean(),
})

const shown = z.strictObject({
  conversation: conversationSchema.meta({ title: 'Conversation', description: 'as in ls' }),
  branch: z.string(),
  path: z.array(messageSchema),
  summaries: z.array(summarySchema),
  draft: z
    .strictObject({ text: z.string(), model: z.string().nullable() })
    .nullable()
    .describe('the part of a running answer that has arrived'),
})

const treeNode = z.strictObject({
  id,
  parent: id.nullable(),
  conversation: id,
  seq: count,
  role,
  created_at: time,
  label: z.string().nullable(),
  text: z.string().describe('the beginning of its text, on one line'),
})

const removed = z.strictObject({
  dry_run: z.boolean(),
  trashed: z.array(id),
  deleted_messages: count,
  deleted_summaries: count,
  moved: z
    .array(z.strictObject({ conversation: id, branch: z.string(), from: id, to: id.nullable() }))
    .describe('branches whose head has changed'),
  missing: z.array(z.string()).describe('named ids that do not exist'),
  renamed_branches: z.array(z.string()).describe('new names of branches whose names repeated the words'),
  erased_events: count.describe('trace events that quoted a deleted message'),
  input_lines: count.nullable().describe('lines removed from the input history; null if it is read-only'),
})

const restored = z.array(z.strictObject({ id, restored: z.boolean(), keys_taken: z.array(z.string()) }))

/** The output of the commands that ask, read and set up. '' is the prompt. */
export const readShapes: Readonly<Record<string, readonly CommandShape[]>> = {
  '': [{ typed: 'skein "…" --json', schema: answer, note: 'Also if the answer fails, with exit code 1.' }],
  fork: [
    {
      typed: 'skein fork <id> --json',
      schema: z.strictObject({ conversation: id, branch: z.string(), message: id }),
    },
  ],
  ls: [{ typed: 'skein ls --json', schema: z.array(conversationSchema), note: 'Newest first.' }],
  show: [{ typed: 'skein show <id> --json', schema: shown }],
  tree: [{ typed: 'skein tree --json', schema: z.array(treeNode), note: 'Parents before their children.' }],
  branches: [{ typed: 'skein branches <id> --json', schema: z.array(branchSchema) }],
  search: [{ typed: 'skein search <words> --json', schema: z.array(searchHitSchema) }],
  stats: [{ typed: 'skein stats --json', schema: statsSchema }],
  rename: [
    {
      typed: 'skein rename <id> <name> --json',
      schema: z.strictObject({
        conversation: id,
        branch: z.string().nullable().describe('null if the title was renamed'),
        name: z.string(),
        before: z.string().nullable(),
      }),
    },
  ],
  label: [
    {
      typed: 'skein label <id> [<label>] --json',
      schema: z.strictObject({
        conversation: id,
        message: id.nullable(),
        label: z.string().nullable(),
        before: z.string().nullable(),
      }),
    },
  ],
  rm: [
    { typed: 'skein rm <id>… --yes --json', schema: removed },
    { typed: 'skein rm --undo <id>… --json', schema: restored, note: 'The same as `restore`.' },
  ],
  trash: [
    {
      typed: 'skein trash --json',
      schema: z.array(
        z.strictObject({
          id,
          title: z.string().nullable(),
          directory: z.string().nullable(),
          messages: count,
          tokens: count,
          updated_at: time,
          trashed_at: time,
          purged_after: time,
        }),
      ),
    },
  ],
  restore: [{ typed: 'skein restore <id>… --json', schema: restored }],
  gc: [
    {
      typed: 'skein gc --json',
      schema: z.strictObject({
        receipt: time.nullable().describe('time of the sweep; null with --dry-run'),
        dry_run: z.boolean(),
        trashed: z.array(id),
        purged: z.array(id),
        kept: z
          .array(z.strictObject({ id, reason: z.enum(['no task', 'someone is answering']) }))
          .describe('expired, but kept'),
        bytes: count.describe('content of the removed messages, payloads included'),
        trashed_messages: count,
        purged_messages: count,
        compacted: z
          .strictObject({
            bytes_before: count,
            bytes_after: count,
            remains: z.array(z.enum(['file', 'log', 'dead_rows', 'backups'])),
          })
          .nullable()
          .describe('null without --compact'),
        clock_jumped: z
          .strictObject({ from: time, to: time })
          .nullable()
          .describe('the clock moved backwards or by more than a year, so nothing was done'),
        input_lines: count
          .nullable()
          .describe('lines removed from the input history; null if it is read-only'),
      }),
    },
  ],
  init: [
    {
      typed: 'skein init --json',
      schema: z.strictObject({
        folder: z.string(),
        file: z.string(),
        created: z.boolean(),
        brought: count.describe('conversations that were moved here'),
      }),
    },
  ],
  serve: [
    {
      typed: 'skein serve --json',
      note: 'Printed when the service accepts requests. It runs until a signal ends it.',
      schema: z.strictObject({
        url: z.string(),
        host: z.string(),
        port: count,
        store: z.string().describe('without a password'),
        conversations: count,
        token_file: z.string(),
        model: z.string().describe('for conversations that keep none'),
      }),
    },
  ],
  discord: [
    {
      typed: 'skein discord --json',
      note: 'Printed when the bot is connected. It runs until a signal ends it.',
      schema: z.strictObject({
        bot: z.string(),
        servers: count,
        store: z.string().describe('without a password'),
        model: z.string().describe('for conversations that keep none'),
      }),
    },
    {
      typed: 'skein discord --check --json',
      schema: z.strictObject({
        checks: z.array(
          z.strictObject({
            name: z.enum(['token', 'intents', 'owner', 'servers', 'permissions', 'invitation']),
            status: z.enum(['ok', 'note', 'failed']),
            message: z.string(),
          }),
        ),
        problems: count,
      }),
    },
  ],
  token: [
    {
      typed: 'skein token create <name> --json',
      schema: z.strictObject({
        ...tokenSchema.shape,
        token: z.string().describe('the secret, shown only now'),
      }),
    },
    { typed: 'skein token ls --json', schema: z.array(tokenSchema) },
    { typed: 'skein token revoke <id> --json', schema: tokenSchema },
  ],
  doctor: [
    {
      typed: 'skein doctor --json',
      schema: z.strictObject({
        checks: z.array(
          z.strictObject({
            name: z.enum([
              'node',
              'store',
              'verify',
              'keys',
              'model',
              'config',
              'mcp',
              'agents',
              'acp',
              'discord',
            ]),
            status: z.enum(['ok', 'note', 'failed']),
            message: z.string(),
          }),
        ),
        problems: count,
        notes: count,
      }),
    },
  ],
  migrate: [
    {
      typed: 'skein migrate --json',
      schema: z.strictObject({
        store: z.string(),
        before: z.int().nullable().describe('the schema version before; null if unknown'),
        schema: z.int().nullable().describe('null if there is no store yet'),
      }),
    },
  ],
}
