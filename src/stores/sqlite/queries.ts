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

/** All the SQL the SQLite store runs, and nothing else. `LIMIT +@limit`, because SQLite looks at a bare parameter
 *  there when it plans, and so compiles the statement anew whenever one is bound: half of what a list cost. */
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
