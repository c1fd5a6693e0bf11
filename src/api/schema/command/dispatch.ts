import { z } from 'zod'
import {
  countSchema as count,
  metadataSchema as fields,
  idSchema as id,
  timeSchema as time,
} from '../index.ts'
import type { CommandShape } from './shape.ts'

const task = z.strictObject({
  id: z.string(),
  project: z.string().nullable(),
  description: z.string(),
  context: z.string().nullable(),
  status: z.enum(['queued', 'running', 'done', 'failed', 'cancelled']),
  dispatch: count.describe('the number of the dispatch with this status'),
  dispatches: count,
  conversation_id: id.nullable(),
  parent: z.string().nullable().describe('the task that filed it'),
  metadata: fields,
  created_at: time,
  updated_at: time,
})

const result = z.strictObject({
  task_id: z.string(),
  dispatch: count,
  worker_id: z.string(),
  agent_id: z.string(),
  conversation_id: id.nullable(),
  response: z.string(),
  tokens_used: count,
  completed_at: time,
  success: z.boolean(),
  error: z.string().nullable(),
  saved: z.boolean().describe('false if a part of the answer could not be stored yet'),
})

const run = z.strictObject({
  n: count.describe('its number, from 1'),
  words: z.string().nullable().describe('null: description and context'),
  status: z.enum(['waiting', 'queued', 'running', 'done', 'failed', 'cancelled']),
  attempts: count,
  deaths: count.describe('claims in a row whose worker died'),
  worker: z.string().nullable(),
  lease_until: time.nullable(),
  cancel_requested: z.boolean(),
  conversation_id: id.nullable(),
  result: fields.nullable().describe('as dispatch run prints it'),
  error: z.string().nullable(),
  created_at: time,
  queued_at: time.nullable(),
  started_at: time.nullable(),
  ended_at: time.nullable(),
})

/** The commands of tasks. */
export const dispatchShapes: Readonly<Record<string, readonly CommandShape[]>> = {
  'dispatch ls': [{ typed: 'skein dispatch ls --json', schema: z.array(task), note: 'Newest first.' }],
  'dispatch submit': [{ typed: 'skein dispatch submit "…" --json', schema: task }],
  'dispatch work': [
    {
      typed: 'skein dispatch work --json',
      schema: result,
      note: 'One line for each dispatch that has ended.',
    },
  ],
  'dispatch show': [
    { typed: 'skein dispatch show <task> --json', schema: task.extend({ runs: z.array(run) }) },
  ],
  'dispatch run': [
    {
      typed: 'skein dispatch run <task> --json',
      schema: result,
      note: '`null` if it was given back, with exit code 130. Exit code 1 if `success` is false.',
    },
  ],
  'dispatch retry': [{ typed: 'skein dispatch retry <task>… --json', schema: z.array(task) }],
  'dispatch cancel': [{ typed: 'skein dispatch cancel <task>… --json', schema: z.array(task) }],
  'dispatch rm': [
    {
      typed: 'skein dispatch rm <task>… --json',
      schema: z.strictObject({ tasks: count, trashed: z.array(id) }),
    },
  ],
}
