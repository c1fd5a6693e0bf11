import BetterSqlite3 from 'better-sqlite3'
import { openSqliteStore, sqliteStore } from '../src/stores/sqlite/index.ts'
// From the sources, Node takes a tenth of a second to compile what a store loads when it first indexes.
import '../src/stores/store/index-search.ts'
import type { Contender, Durability } from './contender.ts'
import { ourContender } from './our-contender.ts'

/** Our store as a contender. Filling uses a borrowed handle, whose single transaction contains many of ours.
 */
export async function openOurs(file: string, durability: Durability): Promise<Contender> {
  if (durability !== 'off') return ourContender(await openSqliteStore(file, { durability }), null)
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  return ourContender(await sqliteStore(db), db)
}
