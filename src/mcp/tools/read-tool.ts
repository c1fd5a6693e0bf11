import { z } from 'zod'
import { writePage } from '../../agent/recall/page-text.ts'
import { type ConversationPage, readPage } from '../../agent/recall/read-page.ts'
import { InvalidError } from '../../core/errors.ts'
import {
  type EndpointTool,
  endpointTool,
  readOnly,
  recalledNotice,
  type ToolSetting,
} from './endpoint-tool.ts'
import { openScope } from './open-scope.ts'

const input = z.strictObject({
  id: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A conversation or message id, or the beginning of one, a key, or <id>:<branch>. May be left out if the server shows one conversation',
    ),
  from: z.int().min(0).optional().describe('The number of the first message; the oldest is 0'),
  limit: z.int().min(1).max(100).default(20).describe('Most messages'),
  offset: z.int().min(0).default(0).describe('Characters to leave out of the first message'),
  max_tokens: z.int().min(200).max(25_000).default(2_000).describe('Most tokens of the result, about'),
})

const output = z.object({
  notice: z.string(),
  conversation: z.string(),
  branch: z.string(),
  title: z.string().nullable(),
  directory: z.string().nullable(),
  total: z.number().describe('Messages of the path'),
  messages: z.array(
    z.object({
      id: z.string(),
      number: z.number(),
      role: z.string(),
      created_at: z.string(),
      text: z.string(),
      remarks: z.string().describe('Tools, attachments and errors'),
      continues_at: z.number().nullable().describe('`offset` of the rest of the text'),
    }),
  ),
  unfinished: z.string().nullable().describe('The answer of a turn that has not ended'),
  read_on: z.object({
    id: z.string(),
    earlier: z.number().nullable().describe('`from` of the page before'),
    later: z.number().nullable().describe('`from` of the next page'),
  }),
})

/** Characters of a token, about. */
const tokenLength = 4

/** `read_conversation`: reads a part of a conversation, and says how to read on. */
export function readTool({ store, scope }: ToolSetting): EndpointTool {
  return endpointTool({
    name: 'read_conversation',
    title: 'Read a conversation',
    description:
      'Reads a stored conversation: its newest messages, those around a message, or those from a number on. Long texts are cut to max_tokens; the result says how to read on.',
    input,
    output,
    annotations: readOnly,
    needs: 'read',
    async run({ id = scope.conversation ?? undefined, from, limit, offset, max_tokens }) {
      const opened = await store('read')
      const { admits } = await openScope(opened, scope)
      if (id === undefined)
        throw new InvalidError('id', 'is missing. list_conversations and search_conversations give ids')
      const page = await readPage(
        opened,
        { id, from, limit, offset },
        { maxChars: max_tokens * tokenLength, mayRead: ({ conversation }) => admits(conversation) },
      )
      return { text: `${recalledNotice}\n${writePage(page)}`, data: pageData(page) }
    },
  })
}

function pageData(page: ConversationPage) {
  const { conversation, branch, messages, total, unfinished, id, earlier, later } = page
  return {
    notice: recalledNotice,
    conversation: conversation.id,
    branch: branch.name,
    title: conversation.title,
    directory: conversation.directory,
    total,
    messages: messages.map(message => ({
      id: message.id,
      number: message.number,
      role: message.role,
      created_at: message.createdAt.toISOString(),
      text: message.text,
      remarks: message.remarks.trim(),
      continues_at: message.continuesAt,
    })),
    unfinished,
    read_on: { id, earlier, later },
  }
}
