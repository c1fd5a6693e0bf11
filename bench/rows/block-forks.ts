import BetterSqlite3 from 'better-sqlite3'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Page, PageOptions } from '../../src/core/listing.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { SaveItem, Store } from '../../src/core/ports.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { workId } from '../workload.ts'
import type { Calls } from './block-calls.ts'

/** A store with two trees of many forks, and the calls that read their shape. */

const trunk = workId(0) as ConversationId
const chain = workId(1) as ConversationId

/** Messages that one transaction writes. */
const batch = 1_000

export interface ForkArgs {
  readonly file: string
  readonly forks: number
}

const say = (n: number): NewMessage => ({ role: 'user', content: `message ${n}` })

/** A conversation with a fork and a branch at each message of its first path, and one in which each branch
 *  leaves the one before: a tenth of the branches, at the end of a long chain of forks. */
export async function fillForks({ file, forks }: ForkArgs): Promise<null> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db, { indexing: 'manual' })
  const { branch } = await store.create({ id: trunk })
  let head: MessageId | null = null
  for (let from = 0; from < forks; from += batch) {
    db.exec('BEGIN')
    const messages = Array.from({ length: batch }, (_, n) => say(from + n))
    const appended = await store.append(branch, head, messages)
    head = appended.head
    const beside = appended.ids.map((parent, n): SaveItem => ({ message: say(n), parent }))
    const ids = await store.save(trunk, beside)
    for (const [n, id] of ids.entries()) await store.createBranch(trunk, id, { name: `b${from + n}` })
    db.exec('COMMIT')
  }
  const { branch: first } = await store.create({ id: chain })
  let end = (await store.append(first, null, [say(0)])).head
  for (let from = 0; from < forks; from += batch) {
    db.exec('BEGIN')
    const items: SaveItem[] = []
    for (let n = 0; n < batch; n++) {
      const parent: SaveItem['parent'] = n === 0 ? end : { item: 2 * n - 1 }
      items.push({ message: say(n), parent }, { message: say(n), parent })
    }
    const ids = await store.save(chain, items)
    end = ids.at(-1)!
    const isEnd = from >= forks - Math.max(batch, forks / 10)
    for (let n = 0; isEnd && n < batch; n++)
      await store.createBranch(chain, ids[2 * n]!, { name: `c${from + n}` })
    db.exec('COMMIT')
  }
  db.close()
  return null
}

export function forkCalls(store: Store): Calls {
  const lastOf = async (list: (page: PageOptions) => Promise<Page<unknown>>) => {
    const first = await list({ limit: 10_000 })
    await list({ limit: 10_000, ...(first.next !== null && { after: first.next }) })
  }
  return {
    listStretches: () => store.listStretches(trunk),
    'listStretches, two pages of 10,000': () => lastOf(page => store.listStretches(trunk, page)),
    listBranches: () => store.listBranches(trunk),
    'listBranches, two pages of 10,000': () => lastOf(page => store.listBranches(trunk, page)),
    'listBranches, at the end of a chain of forks': () => store.listBranches(chain),
    'listBranches, 10,000 at the end of a chain of forks': () => store.listBranches(chain, { limit: 10_000 }),
  }
}
