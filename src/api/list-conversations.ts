import { conversationId } from '../core/ids.ts'
import type { ListConversations, SearchFilter, SearchOptions } from '../core/listing.ts'
import { metadataValue } from './metadata-value.ts'
import type { ListConversationsQuery, SearchQueryParameters } from './schema/request/index.ts'

/** The list that the parameters describe. */
export function listConversationsOf(query: ListConversationsQuery): ListConversations {
  const { parent, updated_from, updated_before, trashed, limit, after, directory } = query
  return {
    ...searchFilterOf(query),
    ...linkOf('task', query.task),
    ...(directory !== undefined && { directory: directory === '' ? null : directory }),
    ...(query.kind !== undefined && { kind: query.kind }),
    ...(query.title !== undefined && { title: query.title }),
    ...(parent !== undefined && { parent: conversationId(parent, 'parent') }),
    ...(updated_from !== undefined && { updatedFrom: new Date(updated_from) }),
    ...(updated_before !== undefined && { updatedBefore: new Date(updated_before) }),
    ...(trashed === 'true' && { trashed: true }),
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
  }
}

/** The filters that lists and searches share. */
function searchFilterOf(query: ListConversationsQuery | SearchQueryParameters): SearchFilter {
  const metadata = Object.entries(query).flatMap(([name, value]) =>
    name.startsWith('metadata.') ? [[name.slice('metadata.'.length), metadataValue(String(value))]] : [],
  )
  return {
    ...linkOf('channel', query.channel),
    ...linkOf('project', query.project),
    ...(query.key_prefix !== undefined && { keyPrefix: query.key_prefix }),
    ...(query.label_prefix !== undefined && { labelPrefix: query.label_prefix }),
    ...(query.tag !== undefined && { tag: query.tag }),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
  }
}

/** An empty value asks for conversations without one. */
function linkOf(name: 'channel' | 'project' | 'task', value: string | undefined): ListConversations {
  return value === undefined ? {} : { [name]: value === '' ? null : value }
}

/** The options of the search that the parameters describe; `q` is the query itself. */
export function searchOptionsOf(query: SearchQueryParameters): SearchOptions {
  const { order, limit, after, snippet_length, directory, kind } = query
  return {
    ...(order !== undefined && { order }),
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
    ...(snippet_length !== undefined && { snippetLength: snippet_length }),
    ...(directory !== undefined && { directory }),
    ...(kind !== undefined && { kind }),
    ...searchFilterOf(query),
  }
}
