import { z } from 'zod'
import { blockSchema, otherBlockSchema } from './block.ts'
import { conversationFields } from './conversation.ts'
import { countSchema, idSchema, timeSchema } from './values.ts'

/** A message of the compatible API (S2-11). */
export const compatMessageSchema = z
  .strictObject({
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    content: z.string().describe('the text blocks, joined by a blank line'),
    timestamp: timeSchema,
    token_count: countSchema.optional().describe('absent if it is 0'),
    id: idSchema.nullable().describe('null for the system prompt that is stored with the conversation'),
    depth: countSchema
      .nullable()
      .describe('the number of messages before it on the path; null for the stored system prompt'),
    blocks: z.array(z.union([blockSchema, otherBlockSchema])),
  })
  .meta({ id: 'CompatMessage', description: 'A message of the path, with its text.' })

const { messages: _, ...fields } = conversationFields

/** A conversation of the compatible API (S2-51): its own fields, and those of a list except `messages`. */
export const compatConversationSchema = z
  .strictObject({
    session_id: idSchema,
    bead_id: z.string().nullable().describe('the task'),
    project_id: z.string().nullable().describe('the project'),
    messages: z.array(compatMessageSchema).describe('the path of the active branch'),
    token_count: countSchema.describe('the usage of all turns of all branches'),
    message_count: countSchema.describe('messages on all branches'),
    ...fields,
  })
  .meta({ id: 'CompatConversation', description: 'A conversation with the messages of its active branch.' })
