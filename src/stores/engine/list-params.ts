/** The filters that are present decide the SQL of a list. Absent filters cost nothing. */
export const listFilters = [
  'channel',
  'no_channel',
  'directory',
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
  'after',
  'trashed',
  'living',
] as const

export type ListFilter = (typeof listFilters)[number]

export interface ListParams {
  readonly filters: readonly ListFilter[]
  readonly channel?: string
  readonly directory?: string
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
  readonly after_time?: number
  readonly after_id?: string
  readonly limit: number
}
