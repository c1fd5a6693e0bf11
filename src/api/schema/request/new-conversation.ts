import { z } from 'zod'
import { countSchema, metadataSchema, promptPolicySchema, timeSchema, toolResultsSchema } from '../values.ts'

const text = z.string()

/** What a new conversation and a change have in common: null clears a field, or leaves it empty. */
const fields = {
  title: text.nullish(),
  model: text.nullish(),
  label: text.nullish(),
  channel: text.nullish(),
  directory: text.nullish(),
  project: text.nullish(),
  task: text.nullish(),
  owner: text.nullish().describe('the program that alone writes it'),
  prompt: text.nullish().describe('the text of the system prompt'),
  prompt_policy: promptPolicySchema.optional(),
  tool_results: toolResultsSchema.optional(),
  metadata: metadataSchema.optional().describe('the whole object'),
  tags: z.array(text).optional().describe('the whole list'),
  expires_at: timeSchema.nullish(),
  ttl_ms: countSchema.nullish().describe('activity sets the expiry to this long after it'),
}

const created = {
  ...fields,
  id: text.optional().describe('a UUID; default: a random one'),
  kind: z.enum(['main', 'subagent']).optional(),
  parent: text.nullish().describe('for a subagent, the conversation that started it'),
  parent_message: text.nullish().describe('the message with the call that started it'),
  created_at: timeSchema.optional().describe('default: now'),
}

/** The body that creates a conversation. */
export const newConversationSchema = z
  .strictObject({ ...created, key: text.nullish().describe('the key of its branch main') })
  .meta({ id: 'NewConversation', description: 'A conversation to create. Every field is optional.' })

/** The body that finds the branch with a key, or creates a conversation. */
export const findOrCreateSchema = z
  .strictObject(created)
  .meta({ id: 'FindOrCreate', description: 'The conversation to create if no branch has the key.' })

/** A conversation to create. */
export type NewConversationBody = z.output<typeof newConversationSchema>

/** The body that changes a conversation. */
export const conversationPatchSchema = z
  .strictObject(fields)
  .meta({ id: 'ConversationPatch', description: 'An absent field keeps its value, null clears it.' })

/** A change of a conversation. */
export type ConversationPatchBody = z.output<typeof conversationPatchSchema>

/** The body of a reset (S2-54). */
export const resetSchema = z
  .strictObject({
    keep_system_message: z
      .boolean()
      .optional()
      .describe('keeps the system prompt, and a system message at the beginning. Default: true'),
    branch: text.optional().describe('default: the active branch'),
  })
  .meta({ id: 'Reset', description: 'Empties a branch. Its messages stay on a branch before-reset-1.' })
