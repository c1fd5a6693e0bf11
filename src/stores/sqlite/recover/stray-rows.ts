import { setImmediate as giveWay } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import { plural } from '../../../core/amount.ts'
import type { TableGap } from './readable-rows.ts'

/** The tables whose rows are looked up by the number of a conversation. */
const tables = ['branches', 'turns', 'summaries', 'drafts', 'events', 'agent_links'] as const

/** Conversations to read between two looks at the signal. */
const atOnce = 2_000

/** The rows that no conversation finds: a damaged page can hide them from a lookup without an error. Reads
 *  the tables from one end to the other. */
export async function findStrayRows(
  db: Database,
  isKnown: (conv: number) => boolean,
  onGap: (gap: TableGap) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const name of tables) {
    const table = `skein_${name}`
    let strays = 0
    try {
      const counts = db.prepare(`SELECT conv, count(*) AS n FROM ${table} NOT INDEXED GROUP BY conv`)
      let read = 0
      for (const { conv, n } of counts.iterate() as Iterable<{ conv: number; n: number }>) {
        if (!isKnown(conv)) strays += n
        if (++read % atOnce !== 0) continue
        await giveWay()
        signal?.throwIfAborted()
      }
    } catch (error) {
      signal?.throwIfAborted()
      onGap({ table, reason: (error as Error).message })
    }
    if (strays > 0) onGap({ table, reason: `${plural(strays, 'row')} of no known conversation` })
  }
}
