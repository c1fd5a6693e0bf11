import { z } from 'zod'
import {
  countSchema,
  dollarsSchema,
  idSchema,
  metadataSchema,
  promptPolicySchema,
  roleSchema,
  timeSchema,
  toolResultsSchema,
} from './values.ts'

/** The fields of a conversation in a list, without its messages. */
export const conversationFields = {
  id: idSchema,
  key: z.string().nullable(),
  title: z.string().nullable(),
  directory: z.string().nullable(),
  channel: z.string().nullable(),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  labels: z.array(z.string()),
  active_branch: z.string(),
  path_messages: countSchema.describe('on the path that would be continued'),
  messages: countSchema.describe('on all branches'),
  branches: countSchema,
  tokens: countSchema,
  cost_usd: dollarsSchema.describe(
    'US dollars; null if tokens were used at an unknown price, or in a conversation that names no model',
  ),
  created_at: timeSchema,
  updated_at: timeSchema,
  expires_at: timeSchema.nullable(),
  live: z.boolean().describe('an answer is in progress'),
  first: z.strictObject({ id: idSchema, text: z.string() }).nullable().describe('the first prompt'),
  last: z.strictObject({ id: idSchema, role: roleSchema, text: z.string() }).nullable(),
  kind: z.enum(['main', 'subagent']),
  project: z.string().nullable(),
  task: z.string().nullable(),
  parent: idSchema.nullable().describe('for a subagent, the conversation that started it'),
  tokens_used: countSchema,
  trashed_at: timeSchema.nullable(),
  label: z.string().nullable(),
  tags: z.array(z.string()),
  metadata: metadataSchema,
  prompt: z
    .strictObject({ hash: z.string(), text: z.string() })
    .nullable()
    .describe('the system prompt that is stored with it'),
  prompt_policy: promptPolicySchema,
  tool_results: toolResultsSchema,
  owner: z.string().nullable().describe('the program that alone writes it'),
  version: countSchema.describe('incremented by every change'),
  ttl_ms: countSchema.nullable().describe('activity sets the expiry to this long after it'),
}

/** A conversation as a list shows it. */
export const conversationSchema = z.strictObject(conversationFields).meta({
  id: 'Conversation',
  description: 'A conversation without its messages.',
})
