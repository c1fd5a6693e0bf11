import type { Queries } from '../query.ts'
import { conversationQueries } from './queries-conversations.ts'
import { deletingQueries } from './queries-deleting.ts'
import { messageQueries } from './queries-messages.ts'
import { recordQueries } from './queries-records.ts'
import { searchQueries } from './queries-search.ts'

/** All the SQL the SQLite store runs, and nothing else. */
export const queries: Queries = {
  ...conversationQueries,
  ...messageQueries,
  ...recordQueries,
  ...deletingQueries,
  ...searchQueries,
}
