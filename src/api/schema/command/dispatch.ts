import { z } from 'zod'
import {
  countSchema as count,
  dispatchSchema,
  idSchema as id,
  taskSchema,
  timeSchema as time,
} from '../index.ts'
import type { CommandShape } from './shape.ts'

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

/** The commands of tasks. */
export const dispatchShapes: Readonly<Record<string, readonly CommandShape[]>> = {
  'dispatch ls': [{ typed: 'skein dispatch ls --json', schema: z.array(taskSchema), note: 'Newest first.' }],
  'dispatch submit': [{ typed: 'skein dispatch submit "…" --json', schema: taskSchema }],
  'dispatch work': [
    {
      typed: 'skein dispatch work --json',
      schema: result,
      note: 'One line for each dispatch that has ended.',
    },
  ],
  'dispatch show': [
    {
      typed: 'skein dispatch show <task> --json',
      schema: taskSchema.extend({ runs: z.array(dispatchSchema) }),
    },
  ],
  'dispatch run': [
    {
      typed: 'skein dispatch run <task> --json',
      schema: result,
      note: '`null` if it was given back, with exit code 130. Exit code 1 if `success` is false.',
    },
  ],
  'dispatch retry': [{ typed: 'skein dispatch retry <task>… --json', schema: z.array(taskSchema) }],
  'dispatch cancel': [{ typed: 'skein dispatch cancel <task>… --json', schema: z.array(taskSchema) }],
  'dispatch rm': [
    {
      typed: 'skein dispatch rm <task>… --json',
      schema: z.strictObject({ tasks: count, trashed: z.array(id) }),
    },
  ],
}
