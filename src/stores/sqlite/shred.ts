import BetterSqlite3 from 'better-sqlite3'
import { isBusy } from './errors.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** Removes deleted data from the bytes of a file: erased and deleted content, drafts that became messages,
 *  and their words in the search index. Rewrites the whole file. Returns false if another process was in
 *  the way: then nothing is lost, and it can be tried again. */
export async function shredErased(path: string): Promise<boolean> {
  const db = new BetterSqlite3(path, { fileMustExist: true, timeout: 0 })
  try {
    return await retryWhileBusy(() => {
      // Deleted entries stay in the segments of the index until those are merged.
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
