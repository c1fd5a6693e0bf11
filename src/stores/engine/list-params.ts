/** The filters that are present decide the SQL of a list. Absent filters cost nothing. */
export const listFilters = [
  'channel',
  'no_channel',
  'directory',
  'directories',
  'no_directory',
  'project',
  'no_project',
  'task',
  'no_task',
  'kind',
  'key_prefix',
  'label_prefix',
  'tag',
  'title',
  'metadata',
  'parent',
  'updated_from',
  'updated_before',
  'expired_by',
  'after',
  'trashed',
  'living',
  'within',
  'ids',
  'named',
] as const

export type ListFilter = (typeof listFilters)[number]

/** The filters that may match a few conversations of many, the most selective kind first. */
const narrowFilters = ['key_prefix', 'metadata', 'label_prefix', 'tag'] as const satisfies ListFilter[]

export type NarrowFilter = (typeof narrowFilters)[number]

/** The filter to begin with, and those that its matches are compared with. Metadata may have several pairs,
 *  of which the index finds one. */
export function splitNarrow(filters: readonly ListFilter[]): {
  readonly narrow: NarrowFilter | undefined
  readonly others: readonly ListFilter[]
} {
  const narrow = narrowFilters.find(filter => filters.includes(filter))
  return { narrow, others: filters.filter(filter => filter !== narrow || filter === 'metadata') }
}

/** Up to so many matches of a narrow filter are read and sorted. If it has more, the list is read newest
 *  first instead, which finds a page soon. */
export const mostNarrow = 1_000

export interface ListParams {
  readonly filters: readonly ListFilter[]
  readonly channel?: string
  readonly directory?: string
  readonly directories?: readonly string[]
  readonly project?: string
  readonly task?: string
  readonly kind?: string
  /** Keys from here up to `key_to`, exclusive. */
  readonly key_from?: string
  readonly key_to?: string
  /** Labels from here up to `label_to`, exclusive. */
  readonly label_from?: string
  readonly label_to?: string
  readonly tag?: string
  readonly title?: string
  /** All of these must match. */
  readonly metadata?: readonly { readonly key: string; readonly value: string }[]
  readonly parent?: string
  readonly updated_from?: number
  readonly updated_before?: number
  readonly expired_by?: number
  readonly after_time?: number
  readonly after_id?: string
  /** A directory. Those below it are from `below_from` up to `below_to`, exclusive. */
  readonly within?: string
  readonly below_from?: string
  readonly below_to?: string
  /** The first directory that may be listed. */
  readonly from_directory?: string
  /** The last one of the page before, or null. */
  readonly after_directory?: string | null
  readonly ids?: readonly string[]
  /** The conversation with this key, otherwise the only one with an id from `named_first` to `named_last`. */
  readonly named_key?: string
  readonly named_first?: string | null
  readonly named_last?: string | null
  readonly limit: number
}
