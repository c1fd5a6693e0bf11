import type { Queries } from '../../engine/query.ts'
import { conversationQueries } from './conversations.ts'
import { deletingQueries } from './deleting.ts'
import { forkQueries } from './fork.ts'
import { measureQueries } from './measure.ts'
import { messageQueries } from './messages.ts'
import { transferQueries } from './records.ts'
import { searchQueries } from './search.ts'
import { recordQueries } from './turns-summaries-events.ts'
import { verifyQueries } from './verify.ts'

/** All the SQL the PostgreSQL store runs, and nothing else. Every parameter says its type, and every
 *  statement its tenant: the engine adds `@tenant` to each call. */
export const queries: Queries = {
  ...conversationQueries,
  ...forkQueries,
  ...messageQueries,
  ...recordQueries,
  ...deletingQueries,
  ...searchQueries,
  ...transferQueries,
  ...verifyQueries,
  ...measureQueries,
}
