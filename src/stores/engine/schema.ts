/** The parts of a schema that every dialect shares. */

/** A step in the history of a schema. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
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
