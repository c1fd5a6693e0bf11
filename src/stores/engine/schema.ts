/** The parts of a schema that every dialect shares. */

/** One step of a schema's history. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** The tables whose rows belong to a conversation, in the order in which it is taken away. Both engines have them. */
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
