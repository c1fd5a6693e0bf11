/** The parts of a schema that every dialect shares. */

/** A step in the history of a schema. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  /** True if all statements also work without it, only slower, except those of tokens. A SQLite file that
   *  cannot be written, because it is read-only or the disk is full, is then opened without it. */
  readonly isOptional?: true
}

/** The tables with rows of a conversation, in the order of deletion. Both engines have them. */
export const tablesOfConversation = [
  'tags',
  'metadata',
  'branches',
  'agent_links',
  'messages',
  'tombstones',
  'turns',
  'drafts',
  'blob_refs',
  'summaries',
  'events',
] as const
