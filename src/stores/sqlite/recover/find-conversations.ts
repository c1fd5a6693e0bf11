import { setImmediate as giveWay } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import { type ConversationId, conversationId } from '../../../core/ids.ts'
import { isRootOf } from './belongs-to.ts'
import { attempt, rowKeys, type TableGap } from './readable-rows.ts'

/** A conversation of a damaged file. */
export interface DamagedConversation {
  /** Null if it is lost. */
  readonly id: ConversationId | null
  /** The number of its row. Damage may have changed it: then its messages name the conversation by another
   *  one. */
  readonly row: number
}

/** The conversations of a damaged file, by the number that their messages name them by. */
export interface FoundConversations {
  readonly kept: ReadonlyMap<number, DamagedConversation>
  /** Those that were being purged. They stay deleted. */
  readonly purged: ReadonlySet<number>
}

/** Rows to read between two looks at the signal. */
const rowsAtOnce = 2_000

/** The conversations in the table, in its index, and those named by messages. */
export async function findConversations(
  db: Database,
  messages: ReadonlyMap<number, readonly number[]>,
  onGap: (gap: TableGap) => void,
  signal: AbortSignal | undefined,
): Promise<FoundConversations> {
  const found = new Map<number, DamagedConversation>()
  const rows = new Map<ConversationId, number>()
  const idOf = attempt(() => db.prepare('SELECT id FROM skein_conversations NOT INDEXED WHERE c = ?').pluck())
  for await (const row of unhurried(rowKeys(db, 'skein_conversations', 'c', onGap))) {
    const id = attempt(() => conversationId(idOf!.get(row) as string))
    if (id === undefined) continue
    found.set(row, { id, row })
    rows.set(id, row)
  }
  const isRoot = (id: ConversationId, c: number) => isRootOf(db, id, messages.get(c) ?? [])
  for await (const { c, id: text } of unhurried(indexedIds(db))) {
    const id = attempt(() => conversationId(text))
    if (id === undefined) continue
    const row = rows.get(id)
    if (row === c) continue
    // The table and its index disagree. The ids of root messages show which is right.
    if (row === undefined) {
      if (!found.has(c) || isRoot(id, c)) found.set(c, { id, row: c })
    } else if (isRoot(id, c) && !isRoot(id, row)) {
      found.delete(row)
      found.set(c, { id, row })
    }
  }
  for (const conv of messages.keys()) if (!found.has(conv)) found.set(conv, { id: null, row: conv })
  const isPurged = purgedRows(db)
  const purged = new Set<number>()
  for await (const [conv, { row }] of unhurried([...found])) if (isPurged(row)) purged.add(conv)
  for (const conv of purged) found.delete(conv)
  return { kept: found, purged }

  /** Lets signals arrive between the rows. */
  async function* unhurried<T>(list: readonly T[]): AsyncGenerator<T> {
    for (const [i, one] of list.entries()) {
      if (i % rowsAtOnce === 0) {
        await giveWay()
        signal?.throwIfAborted()
      }
      yield one
    }
  }
}

function indexedIds(db: Database): readonly { readonly c: number; readonly id: string }[] {
  const sql = `SELECT c, id FROM skein_conversations INDEXED BY sqlite_autoindex_skein_conversations_1 ORDER BY id`
  return attempt(() => db.prepare(sql).all() as { c: number; id: string }[]) ?? []
}

/** Whether a row is of a conversation that was being purged. Only a trashed one is, so one damaged mark does
 *  not delete a conversation. */
function purgedRows(db: Database): (row: number) => boolean {
  const sql = `SELECT purging = 1 AND trashed_at IS NOT NULL FROM skein_conversations NOT INDEXED WHERE c = ?`
  const marks = attempt(() => db.prepare(sql).pluck())
  return row => attempt(() => marks!.get(row)) === 1
}
