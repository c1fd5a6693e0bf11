import type { Queries } from '../../engine/statements.ts'
import { conversationQueries } from './conversations.ts'
import { followQueries } from './follow.ts'
import { housekeepingQueries } from './housekeeping.ts'
import { listQueries } from './lists.ts'
import { messageQueries } from './messages.ts'
import { overviewQueries } from './overview.ts'
import { recordQueries } from './records.ts'
import { searchQueries } from './search.ts'
import { structureQueries } from './structure.ts'
import { taskQueries } from './tasks.ts'
import { tokenQueries } from './tokens.ts'
import { turnQueries } from './turns-summaries-events.ts'
import { verifyQueries } from './verify.ts'

/** All the SQL of the SQLite store, and nothing else. `LIMIT +@limit`, because SQLite reads a bare
 *  parameter there when it plans, and compiles the statement again for each binding, which doubled the time
 *  of a list. */
export const queries: Queries = {
  ...conversationQueries,
  ...listQueries,
  ...messageQueries,
  ...structureQueries,
  ...turnQueries,
  ...taskQueries,
  ...followQueries,
  ...housekeepingQueries,
  ...searchQueries,
  ...overviewQueries,
  ...recordQueries,
  ...tokenQueries,
  ...verifyQueries,
}
