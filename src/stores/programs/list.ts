import { type ConversationId, conversationId } from '../../core/ids.ts'
import type {
  ConversationFilter,
  ListConversations,
  ListDirectories,
  ListedConversation,
  ListMessages,
  Page,
  SearchFilter,
  SkippedRow,
} from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import { fold } from '../../core/search/fold.ts'
import { all, first, type Program } from '../engine/engine.ts'
import type { ListFilter, ListParams } from '../engine/list-params.ts'
import { conversationFromRow, listedBranch } from '../engine/row-to-value.ts'
import type { ListedRow, LooseMessageRow } from '../engine/rows.ts'
import { readLoose } from './content.ts'
import { defaultLimit, pageOf, readCursor, writeCursor } from './cursor.ts'
import { versionOf } from './lookup.ts'
import type { IdRange } from './resolve.ts'

export function* listConversations(options: ListConversations): Program<Page<ListedConversation>> {
  const limit = options.limit ?? 20
  const params = filterParams(options, limit + 1)
  const rows = yield* all('listConversations', params)
  const items: ListedConversation[] = []
  const skipped: SkippedRow[] = []
  for (const row of rows.slice(0, limit)) {
    try {
      items.push(listedOf(row))
    } catch (error) {
      // A bad row does not break the list.
      skipped.push({ id: String(row.id), reason: (error as Error).message })
    }
  }
  const last = rows[limit - 1]
  const next = rows.length > limit && last ? writeCursor([last.updated_at, last.id]) : null
  return { items, next, skipped }
}

export function* countConversations(filter: ConversationFilter): Program<number> {
  const row = yield* first('countConversations', filterParams(filter, 0))
  return row?.count ?? 0
}

/** The parameters of `scopeConversations`: a filter, some ids, and the conversation with a key or the only
 *  one in a range of ids. */
export function scopeParams(
  filter: SearchFilter,
  ids: readonly ConversationId[] | null,
  named: { readonly key: string; readonly ids: IdRange | null } | null,
): ListParams {
  const params = filterParams(filter, 0)
  return {
    ...params,
    filters: [...params.filters, ...(ids ? (['ids'] as const) : []), ...(named ? (['named'] as const) : [])],
    ...(ids && { ids }),
    ...(named && {
      named_key: named.key,
      named_first: named.ids?.first ?? null,
      named_last: named.ids?.last ?? null,
    }),
  }
}

/** A page of the directories. The cursor is the last one. */
export function* listDirectories(options: ListDirectories): Program<Page<string>> {
  const { within, limit = defaultLimit, after } = options
  const filters: ListFilter[] = [options.trashed ? 'trashed' : 'living']
  const last = after === undefined ? null : (readCursor(after, ['string'])[0] as string)
  const params: Mutable<ListParams> = { filters, limit: limit + 1, after_directory: last }
  params.from_directory = last ?? within ?? ''
  if (within !== undefined) {
    const base = within.replace(/\/+$/, '')
    filters.push('within')
    params.within = within
    params.below_from = `${base}/`
    // '0' is the character after '/'.
    params.below_to = `${base}0`
  }
  const rows = yield* all('listDirectories', params)
  return pageOf(
    rows,
    { limit },
    row => row.directory,
    row => [row.directory],
  )
}

export function listedOf(row: ListedRow): ListedConversation {
  return { ...conversationFromRow(row), branch: listedBranch(row, row.active_branch) }
}

/** Above every text with the prefix: U+10FFFF does not occur in keys and labels in practice, and both engines
 *  compare bytes. */
function afterPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The filters that are present, and their values. */
function filterParams(options: ListConversations, limit: number): ListParams {
  const filters: ListFilter[] = [options.trashed ? 'trashed' : 'living']
  const params: Mutable<ListParams> = { filters, limit }
  for (const link of ['channel', 'directory', 'project', 'task'] as const) {
    const given = options[link]
    // One directory is read in the order of its index.
    const value = Array.isArray(given) && given.length === 1 ? (given[0] as string) : given
    if (value === null) filters.push(`no_${link}`)
    else if (typeof value === 'string') {
      filters.push(link)
      params[link] = value
    } else if (value !== undefined) {
      filters.push('directories')
      params.directories = value
    }
  }
  if (options.kind !== undefined) {
    filters.push('kind')
    params.kind = options.kind
  }
  if (options.keyPrefix !== undefined) {
    filters.push('key_prefix')
    params.key_from = options.keyPrefix
    params.key_to = afterPrefix(options.keyPrefix)
  }
  if (options.labelPrefix !== undefined) {
    filters.push('label_prefix')
    params.label_from = options.labelPrefix
    params.label_to = afterPrefix(options.labelPrefix)
  }
  if (options.tag !== undefined) {
    filters.push('tag')
    params.tag = options.tag
  }
  if (options.title !== undefined) {
    filters.push('title')
    params.title = fold(options.title)
  }
  const pairs = Object.entries(options.metadata ?? {})
  if (pairs.length > 0) {
    filters.push('metadata')
    params.metadata = pairs.map(([key, value]) => ({ key, value: JSON.stringify(value) }))
  }
  if (options.parent !== undefined) {
    filters.push('parent')
    params.parent = options.parent
  }
  if (options.updatedFrom !== undefined) {
    filters.push('updated_from')
    params.updated_from = options.updatedFrom.getTime()
  }
  if (options.updatedBefore !== undefined) {
    filters.push('updated_before')
    params.updated_before = options.updatedBefore.getTime()
  }
  if (options.expiredBy !== undefined) {
    filters.push('expired_by')
    params.expired_by = options.expiredBy.getTime()
  }
  if (options.after !== undefined) {
    filters.push('after')
    const [time, id] = readCursor(options.after, ['number', 'string'])
    params.after_time = time as number
    params.after_id = id as string
  }
  return params
}

/** Seqs, both exclusive. */
export interface SeqSpan {
  readonly above: number
  readonly below: number
}

/** With a span, only the messages in it are looked at, and the cursor is ignored. */
export function* listMessages(options: ListMessages, span?: SeqSpan): Program<Page<Message>> {
  const id = options.conversationId
  const limit = options.limit ?? 100
  const up = options.order === 'ascending'
  const seq = options.after === undefined ? undefined : (readCursor(options.after, ['seq'])[0] as number)
  const rows = yield* all(up ? 'listMessages' : 'listMessagesDown', {
    id,
    above: Math.max(options.afterSeq ?? -1, span?.above ?? (up ? (seq ?? -1) : -1)),
    below: span?.below ?? (up ? 2 ** 31 - 1 : (seq ?? 2 ** 31 - 1)),
    roles: options.roles ?? null,
    label: options.label ?? null,
    limit: limit + 1,
    offset: options.offset ?? 0,
  })
  if (rows.length === 0) yield* versionOf(conversationId(id))
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = rows.length > limit && last ? writeCursor([last.seq]) : null
  return { ...(yield* readEach(shown, options.blobs ?? 'whole')), next }
}

/** Reads each row separately, so that bad ones can be named. */
function* readEach(
  rows: readonly LooseMessageRow[],
  mode: 'whole' | 'preview',
): Program<{ items: Message[]; skipped: SkippedRow[] }> {
  const items: Message[] = []
  const skipped: SkippedRow[] = []
  for (const row of rows) {
    try {
      items.push(...(yield* readLoose([row], mode)))
    } catch (error) {
      skipped.push({ id: row.id, reason: (error as Error).message })
    }
  }
  return { items, skipped }
}
