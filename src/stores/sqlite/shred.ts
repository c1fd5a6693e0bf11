import BetterSqlite3 from 'better-sqlite3'
import { isBusy } from './errors.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** Removes from the bytes of a file what no longer belongs to it: words that were erased or deleted, drafts that became
 *  messages, words of them in the search index. Writes the whole file anew. False if another process stood in the way:
 *  then nothing is lost, and it can be tried again. */
export async function shredErased(path: string): Promise<boolean> {
  const db = new BetterSqlite3(path, { fileMustExist: true, timeout: 0 })
  try {
    return await retryWhileBusy(() => {
      // Entries that were deleted stay in the parts of the index until those are merged.
      db.exec(`INSERT INTO skein_search (skein_search) VALUES ('optimize')`)
      db.exec('VACUUM')
      const [state] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
      return state?.busy === 0
    })
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  } finally {
    db.close()
  }
}
