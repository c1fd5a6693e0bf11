import { checkMethod } from '../../core/check.ts'
import type { ConversationKind } from '../../core/conversation.ts'
import type { SearchHit } from '../../core/listing.ts'
import type { Resolved } from '../../core/ports.ts'
import {
  choiceField,
  optionalText,
  optionalWhole,
  ownTool,
  textField,
  wholeField,
} from '../tools/own-tool.ts'
import type { AgentTool, Tools } from '../tools/tool.ts'
import { writePage } from './page-text.ts'
import { readPage } from './read-page.ts'
import type { RecallStore } from './recall-digest.ts'
import { querySyntax, searchHits } from './search-hits.ts'

/** What `recallTools` may search, and how much it returns. */
export interface RecallToolsOptions {
  /** Searches and reads only conversations of this directory, or of one of these. */
  readonly directory?: string | readonly string[]
  /** The kind of conversations to search. Default: `main`. */
  readonly kind?: ConversationKind
  /** Most characters of a page of a conversation. Default: 6,000. */
  readonly maxChars?: number
}

/** Tools with which a model reads earlier conversations: `search_conversations` and `read_conversation`. They
 *  do not write. An invalid query returns an error text that explains the syntax.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { createAgent, recallTools } from 'skein/agent'
 * import { scripted } from 'skein/models'
 *
 * await using store = await openStore(':memory:')
 * const { branch } = await store.create({ title: 'Deployment' })
 * await store.append(branch, null, [{ role: 'user', content: 'The staging host is called otter.' }])
 *
 * const call = { name: 'search_conversations', input: { query: 'staging' } }
 * const script = [{ calls: [call] }, 'It is called otter.']
 * await using agent = createAgent({ store, model: scripted({ script }), tools: recallTools(store) })
 * const { text } = await agent.ask('talk', 'What is the staging host called?')
 * console.log(text) // It is called otter.
 * ```
 */
export function recallTools(store: RecallStore, options: RecallToolsOptions = {}): Tools {
  checkMethod(store, 'store', 'search', 'a store, such as openStore() returns')
  return {
    search_conversations: searchTool(store, options),
    read_conversation: readTool(store, options),
  }
}

function searchTool(store: RecallStore, { directory, kind = 'main' }: RecallToolsOptions): AgentTool {
  return ownTool({
    description: `Searches everything that was said in earlier conversations, newest words included. A query has ${querySyntax}. Use few, rare words; read more of what is found with read_conversation.`,
    input: {
      query: textField({ min: 1 }),
      limit: wholeField(10, { min: 1, max: 20 }),
      order: choiceField('ranked', 'newest'),
      after: optionalText({ about: 'What the page before gave as next' }),
    },
    repeatable: true,
    readOnly: true,
    async run({ query, limit, order, after }, { conversationId, signal }) {
      const narrow = { kind, order, limit, signal, ...(directory === undefined ? {} : { directory }) }
      const page = await searchHits(store, query, after === undefined ? narrow : { ...narrow, after })
      const hits = page.items.map(hit => ({
        ...shownHit(hit),
        ...(hit.conversation.id === conversationId ? { here: true } : {}),
      }))
      return {
        hits,
        ...(hits.length === 0 &&
          page.next === null && { hint: 'nothing was found: try fewer or other words' }),
        ...(page.next !== null && { next: page.next }),
        // The index is being built: the same search finds more later.
        ...(page.unindexed > 0 && { notSearched: page.unindexed }),
      }
    },
  })
}

function shownHit({ conversation, message, snippet }: SearchHit) {
  return {
    conversation: conversation.id,
    title: conversation.title,
    time: message.createdAt.toISOString(),
    message: message.id,
    role: message.role,
    snippet: snippet.text,
  }
}

function readTool(store: RecallStore, { directory, maxChars = 6_000 }: RecallToolsOptions): AgentTool {
  const directories = directory === undefined ? null : [directory].flat()
  const isInside = ({ conversation }: Resolved) =>
    directories === null || (conversation.directory !== null && directories.includes(conversation.directory))
  return ownTool({
    description:
      'Reads a conversation: its newest messages, those around a message, or those from a place on. Long texts are cut; how to read on is said.',
    input: {
      id: textField({
        min: 1,
        about: 'A conversation or message id, or the beginning of one, a key, or <id>:<branch>',
      }),
      from: optionalWhole({ min: 0, about: 'The number of the first message; the oldest is 0' }),
      limit: wholeField(20, { min: 1, max: 100, about: 'How many messages' }),
      offset: wholeField(0, { min: 0, about: 'Characters to leave out of the first message' }),
    },
    repeatable: true,
    readOnly: true,
    run: async page => writePage(await readPage(store, page, { maxChars, mayRead: isInside })),
  })
}
