import type { Queries } from '../query.ts'
import { conversationQueries } from './queries-conversations.ts'
import { deletingQueries } from './queries-deleting.ts'
import { forkQueries } from './queries-fork.ts'
import { measureQueries } from './queries-measure.ts'
import { messageQueries } from './queries-messages.ts'
import { recordQueries } from './queries-records.ts'
import { searchQueries } from './queries-search.ts'
import { transferQueries } from './queries-transfer.ts'
import { verifyQueries } from './queries-verify.ts'

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
