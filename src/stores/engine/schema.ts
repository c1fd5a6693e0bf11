/** The parts of a schema that every dialect shares. */

/** A step in the history of a schema. */
export interface Migration {
  /** Versions are consecutive and begin with 1. */
  readonly version: number
  /** What it does, for people. */
  readonly name: string
  /** One or more statements. */
  readonly sql: string
  /** True if all statements also work without it, only slower, except those of tokens. A SQLite file that
   *  cannot be written, because it is read-only or the disk is full, is then opened without it. */
  readonly isOptional?: boolean
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
