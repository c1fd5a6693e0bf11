import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ConflictError, NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Appended, ConversationWriter, MessageReader } from '../../core/ports.ts'
import type { McpNotes } from './endpoint-options.ts'
import { type EndpointTool, endpointTool, type ToolSetting } from './endpoint-tool.ts'

const input = z.strictObject({
  text: z
    .string()
    .refine(text => text.trim() !== '', 'must not be empty')
    .max(100_000)
    .describe('What to remember, so that it can be understood without this conversation'),
})

const output = z.object({
  conversation: z.string(),
  message: z.string(),
  stored: z.boolean().describe('False if the same text was stored before'),
})

/** `remember`: adds a message to the notes of the project. The same text is stored once. */
export function rememberTool({ store }: ToolSetting, notes: McpNotes): EndpointTool {
  return endpointTool({
    name: 'remember',
    title: 'Remember',
    description:
      'Stores a note for later conversations, in the conversation "notes" of this project. search_conversations finds it. The same text is stored once.',
    input,
    output,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    needs: 'write',
    async run({ text }) {
      const { branch, ids, outcome } = await storeNote(await store('write'), notes, text)
      const stored = outcome !== 'replayed'
      const words = stored ? 'Stored' : 'It was stored before'
      return {
        text: `${words}: message ${ids[0]} of conversation ${branch.conversationId}.`,
        data: { conversation: branch.conversationId, message: ids[0], stored },
      }
    },
  })
}

type NoteStore = Pick<ConversationWriter, 'findOrCreate' | 'append'> & Pick<MessageReader, 'getMessages'>

/** Attempts against writers that move the head between our read and our append. */
const mostAttempts = 20

/** The hash of the text is the key of the turn, so the store itself refuses a second copy. A note that was
 *  deleted or erased is stored again, under a key with a number. */
async function storeNote(store: NoteStore, { key, links }: McpNotes, text: string): Promise<Appended> {
  const hash = createHash('sha256').update(text).digest('hex')
  const message = { role: 'user', content: text, metadata: { via: 'mcp' } } as const
  for (let attempt = 1, copy = 1; ; attempt++) {
    const { branch } = await store.findOrCreate(key, { title: 'notes', ...links })
    const turn = { key: `remember:${hash}${copy === 1 ? '' : `:${copy}`}`, step: 0 }
    try {
      const appended = await store.append(branch, branch.head, [message], { turn })
      if (appended.outcome !== 'replayed' || (await isThere(store, appended.ids[0]))) return appended
      copy++
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt >= mostAttempts) throw error
    }
  }
}

async function isThere(store: NoteStore, id: MessageId): Promise<boolean> {
  try {
    const [found] = await store.getMessages([id], { blobs: 'preview' })
    return found?.erased === null
  } catch (error) {
    if (error instanceof NotFoundError) return false
    throw error
  }
}
