import { z } from 'zod'
import { dispatchShapes } from './json-dispatch.ts'
import { manageShapes, toolResults } from './json-manage.ts'
import { mendShapes } from './json-mend.ts'
import * as message from './json-message.ts'
import { moveShapes } from './json-move.ts'

/** The output of `--json`, command by command: the single source of docs/json.md and of the test that
 *  compares the commands with it. Objects are strict, so a new field must be added here. */

const id = z.string().describe('full id')
const time = z.iso.datetime()
const count = z.int().nonnegative()
const dollars = z.number().nonnegative().nullable().describe('US dollars; null if the price is unknown')
const role = z.enum(['user', 'assistant', 'tool_result', 'system'])

const usage = z.strictObject({
  input: count.nullable(),
  output: count.nullable(),
  cache_read: count.nullable(),
  cache_write: count.nullable(),
  reasoning: count.nullable(),
})

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
    .enum(['stop', 'tool_calls', 'length', 'filtered', 'refused', 'other', 'steps', 'aborted'])
    .nullable()
    .describe('why it ended; length, filtered and refused: the answer is not whole; null if the turn failed'),
  text: z.string(),
  model: z.string(),
  usage,
  cost_usd: dollars,
  context: z
    .strictObject({ used: count, window: count, limit: count, left_out: count, summarised: count })
    .nullable()
    .describe('tokens of the last call, and messages that it left out; null if there was no call'),
  saved: z.boolean(),
})

const conversation = z.strictObject({
  id,
  key: z.string().nullable(),
  title: z.string().nullable(),
  directory: z.string().nullable(),
  channel: z.string().nullable(),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  labels: z.array(z.string()),
  active_branch: z.string(),
  path_messages: count.describe('on the path that would be continued'),
  messages: count.describe('on all branches'),
  branches: count,
  tokens: count,
  cost_usd: dollars,
  created_at: time,
  updated_at: time,
  expires_at: time.nullable(),
  live: z.boolean().describe('an answer is in progress'),
  first: z.strictObject({ id, text: z.string() }).nullable().describe('the first prompt'),
  last: z.strictObject({ id, role, text: z.string() }).nullable(),
  kind: z.enum(['main', 'subagent']),
  project: z.string().nullable(),
  task: z.string().nullable(),
  parent: id.nullable().describe('for a subagent, the conversation that started it'),
  tokens_used: count,
  trashed_at: time.nullable(),
  label: z.string().nullable(),
  tags: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()),
  prompt: z
    .strictObject({ hash: z.string(), text: z.string() })
    .nullable()
    .describe('the system prompt that is stored with it'),
  prompt_policy: z.enum(['rebuild', 'stored']),
  tool_results: toolResults,
  owner: z.string().nullable().describe('the program that alone writes it'),
})

const shown = z.strictObject({
  conversation: conversation.meta({ title: 'Conversation', description: 'as in ls' }),
  branch: z.string(),
  path: z.array(message.message),
  summaries: z.array(
    z.strictObject({
      id: z.string(),
      from: id,
      to: id,
      text: z.string(),
      model: z.string().nullable(),
      tokens: count,
      created_at: time,
    }),
  ),
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

const branch = z.strictObject({
  name: z.string(),
  active: z.boolean(),
  head: id.nullable(),
  key: z.string().nullable(),
  title: z.string().nullable(),
  base: id.nullable().describe('the last message that it shares with another branch'),
  own_messages: count,
  path_messages: count,
  created_at: time,
  updated_at: time,
  prompt: z.strictObject({ id, text: z.string() }).nullable().describe('the last prompt on it'),
})

const hit = z.strictObject({
  message: id,
  conversation: id,
  branch: z.string().nullable(),
  title: z.string().nullable(),
  role,
  kind: z.enum(['text', 'thinking', 'tool_call', 'tool_result', 'file']),
  created_at: time,
  snippet: z.string(),
  marks: z
    .array(z.tuple([count, count]))
    .describe('positions of the words in the snippet: from, to, in UTF-16 units'),
  directory: z.string().nullable(),
})

const totals = { turns: count, input: count, output: count, cost_usd: dollars, unpriced_tokens: count }

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

/** A command as typed, and its output. */
export interface Shape {
  readonly typed: string
  readonly schema: z.ZodType
  /** A note for the reader. */
  readonly note?: string
}

/** By the name of the command; '' is the prompt. */
export const shapes: Readonly<Record<string, readonly Shape[]>> = {
  '': [{ typed: 'skein "…" --json', schema: answer, note: 'Also if the answer fails, with exit code 1.' }],
  fork: [
    {
      typed: 'skein fork <id> --json',
      schema: z.strictObject({ conversation: id, branch: z.string(), message: id }),
    },
  ],
  ls: [{ typed: 'skein ls --json', schema: z.array(conversation), note: 'Newest first.' }],
  show: [{ typed: 'skein show <id> --json', schema: shown }],
  tree: [{ typed: 'skein tree --json', schema: z.array(treeNode), note: 'Parents before their children.' }],
  branches: [{ typed: 'skein branches <id> --json', schema: z.array(branch) }],
  search: [{ typed: 'skein search <words> --json', schema: z.array(hit) }],
  stats: [
    {
      typed: 'skein stats --json',
      schema: z.strictObject({
        last_30_days: z.strictObject({ conversations: count, messages: count, ...totals }),
        all: z.strictObject({ conversations: count, messages: count, ...totals }),
        days: z.array(z.strictObject({ day: z.string().describe('local day'), ...totals })),
        models: z.array(z.strictObject({ model: z.string(), ...totals })),
        agents: z
          .array(z.strictObject({ agent: z.string(), ...totals }))
          .describe('agents of other programs, which name no model'),
        trashed_conversations: count,
        blobs: z.strictObject({ count, bytes: count }),
        sizes: z
          .array(z.strictObject({ name: z.string(), bytes: count }))
          .describe('file, log, search index; for PostgreSQL its tables'),
      }),
    },
  ],
  ...moveShapes,
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
  ...manageShapes,
  ...dispatchShapes,
  ...mendShapes,
  config: [
    {
      typed: 'skein config --json',
      schema: z.strictObject({
        store: z.string().describe('without a password'),
        store_from: z.enum(['given', 'project', 'user']),
        files: z.array(z.string()),
        ignored: z.array(z.string()),
        settings: z.array(
          z.strictObject({
            path: z.string(),
            value: z.union([z.string(), z.number(), z.boolean(), z.null()]),
            source: z.string(),
          }),
        ),
        keys: z.record(z.string(), z.boolean()).describe('whether a key is set; never the key itself'),
      }),
    },
    {
      typed: 'skein config models --json',
      schema: z.array(
        z.strictObject({
          name: z.string(),
          id: z.string(),
          window: count,
          missing_key: z.string().nullable().describe('the variable to set'),
          is_default: z.boolean(),
        }),
      ),
    },
  ],
  doctor: [
    {
      typed: 'skein doctor --json',
      schema: z.strictObject({
        checks: z.array(
          z.strictObject({
            name: z.enum(['node', 'store', 'verify', 'keys', 'config']),
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
