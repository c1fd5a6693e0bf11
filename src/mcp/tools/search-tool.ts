import { z } from 'zod'
import { quoted, roleLabels } from '../../agent/recall/page-text.ts'
import { querySyntax, searchHits } from '../../agent/recall/search-hits.ts'
import { fence, guardAfterLabel } from '../../context/text/guard-lines.ts'
import { notSearchedNote } from '../../core/collect-hits.ts'
import type { SearchHit } from '../../core/listing.ts'
import {
  type EndpointTool,
  endpointTool,
  readOnly,
  recalledNotice,
  type ToolSetting,
} from './endpoint-tool.ts'
import { openScope } from './open-scope.ts'

const input = z.strictObject({
  query: z.string().min(1).describe(`Words to look for. A query has ${querySyntax}`),
  order: z
    .enum(['ranked', 'newest'])
    .default('ranked')
    .describe('The most relevant first, or the newest first'),
  limit: z.int().min(1).max(50).default(10).describe('Most hits'),
  after: z.string().optional().describe('`next` of the page before'),
  all: z
    .boolean()
    .optional()
    .describe('False: only this project. True: every directory, if the server shows them'),
})

const output = z.object({
  notice: z.string(),
  hits: z.array(
    z.object({
      conversation: z.string(),
      title: z.string().nullable(),
      directory: z.string().nullable(),
      channel: z.string().nullable(),
      message: z.string(),
      role: z.string(),
      created_at: z.string(),
      snippet: z.string(),
    }),
  ),
  next: z.string().nullable().describe('Pass it as `after` to read the next page'),
  not_searched: z.number().describe('Messages that are not in the index yet'),
})

/** `search_conversations`: finds messages in the scope. */
export function searchTool({ store, scope }: ToolSetting): EndpointTool {
  return endpointTool({
    name: 'search_conversations',
    title: 'Search conversations',
    description:
      'Searches everything that was said in stored conversations with any agent, by people, models and tools. Use few, rare words. Read more of a hit with read_conversation and the id of its message.',
    input,
    output,
    annotations: readOnly,
    needs: 'read',
    async run({ query, order, limit, after, all }, { signal }) {
      const opened = await store('read')
      const { directories, conversationId, admits } = await openScope(opened, scope, all)
      const within = conversationId === null ? query : `${query} in:${conversationId}`
      const narrow = directories === null ? {} : { directory: directories }
      const options = { order, limit, signal, ...narrow, ...(after !== undefined && { after }) }
      const { items, next, unindexed } = await searchHits(opened, within, options, hit =>
        admits(hit.conversation),
      )
      const data = { notice: recalledNotice, hits: items.map(hitData), next, not_searched: unindexed }
      return { text: textOf(items, next, unindexed), data }
    },
  })
}

function hitData({ conversation, message, snippet }: SearchHit) {
  return {
    conversation: conversation.id,
    title: conversation.title,
    directory: conversation.directory,
    channel: conversation.channel,
    message: message.id,
    role: message.role,
    created_at: message.createdAt.toISOString(),
    snippet: snippet.text,
  }
}

function textOf(hits: readonly SearchHit[], next: string | null, unindexed: number): string {
  const note = notSearchedNote(unindexed)
  const later = note === null ? [] : [note]
  const more = next === null ? [] : [`More: the same query with after ${quoted(next)}.`]
  if (hits.length === 0) {
    const nothing =
      next === null ? 'Nothing was found: try fewer or other words.' : 'Nothing was found in this page.'
    return [nothing, ...more, ...later].join('\n')
  }
  const lines = hits.map(({ conversation, message, snippet }) => {
    const title = conversation.title === null ? '' : ` ${quoted(conversation.title)}`
    const heading = `Message ${message.id} of conversation ${conversation.id}${title}, ${message.createdAt.toISOString()}`
    return `${heading}\n${roleLabels[message.role]}: ${guardAfterLabel(snippet.text)}`
  })
  return [recalledNotice, `<${fence}>`, lines.join('\n\n'), `</${fence}>`, ...more, ...later].join('\n')
}
