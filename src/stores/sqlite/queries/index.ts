import type { Queries } from '../../engine/statements.ts'
import { conversationQueries } from './conversations.ts'
import { housekeepingQueries } from './housekeeping.ts'
import { messageQueries } from './messages.ts'
import { recordQueries } from './records.ts'
import { searchQueries } from './search.ts'
import { turnQueries } from './turns-summaries-events.ts'
import { verifyQueries } from './verify.ts'

/** All the SQL the SQLite store runs, and nothing else. `LIMIT +@limit`, because SQLite looks at a bare parameter
 *  there when it plans, and so compiles the statement anew whenever one is bound: half of what a list cost. */
export const queries: Queries = {
  ...conversationQueries,
  ...messageQueries,
  ...turnQueries,
  ...housekeepingQueries,
  ...searchQueries,
  ...recordQueries,
  ...verifyQueries,
}
