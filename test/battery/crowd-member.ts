import { hrtime } from 'node:process'
import BetterSqlite3, { type Database, type RunResult } from 'better-sqlite3'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { seededRandom } from './random.ts'
import { turnLength, words } from './writer.ts'

/** One of many processes that use one file at the same time, each with all operations of agents and users. */

/** Its instructions: the duration, and whether it gives up as soon as the file is locked (the negative
 *  control). */
export interface Order {
  readonly target: string
  readonly name: string
  readonly seed: number
  readonly ms: number
  readonly impatient: boolean
}

/** Its results. */
export interface Account {
  /** Acknowledged turns in its own conversation. */
  readonly turns: number
  /** Acknowledged messages in the conversation that all share. */
  readonly shared: readonly MessageId[]
  /** The duration of each call, in milliseconds. */
  readonly took: readonly number[]
  readonly errors: readonly string[]
  /** How often a write found the file locked. */
  readonly met: number
}

let met = 0

if (process.send) {
  process.once('message', order => {
    live(order as Order).then(
      account => process.send!(account, () => process.exit()),
      error => {
        console.error(error)
        process.exit(1)
      },
    )
  })
  process.send('here')
}

async function live({ target, name, seed, ms, impatient }: Order): Promise<Account> {
  countMeetings()
  // A clock that is always past the deadline makes the process wait for no other.
  if (impatient) performance.now = () => Number.POSITIVE_INFINITY
  const random = seededRandom(seed)
  const store = await openSqliteStore(target)
  const place = await store.findOrCreate(name)
  const id = place.conversation.id
  const commons = await store.findOrCreate('shared')
  const shared: MessageId[] = []
  const took: number[] = []
  const errors: string[] = []
  let head: MessageId | null = null
  let turns = 0
  let forks = 0

  const works: readonly (readonly [share: number, work: () => Promise<unknown>])[] = [
    [0.4, sayTurn],
    [0.1, sayToAll],
    [0.25, async () => head && store.tail(head, { messages: 20 })],
    [0.1, () => store.listConversations({ limit: 20 })],
    [0.05, () => store.search(`${Math.floor(random() * 20)}`, { limit: 5 })],
    [0.05, () => store.findOrCreate(`${Math.floor(random() * 5)} for all`)],
    [0.05, fork],
  ]

  process.send!('ready')
  await new Promise(go => process.once('message', go))
  const end = Date.now() + ms
  while (Date.now() < end) {
    const work = choose()
    const begun = hrtime.bigint()
    try {
      await work()
    } catch (error) {
      errors.push(String(error))
    }
    took.push(Number(hrtime.bigint() - begun) / 1e6)
    await new Promise(setImmediate)
  }
  await store.close()
  return { turns, shared, took, errors, met }

  function choose(): () => Promise<unknown> {
    let left = random()
    for (const [share, work] of works) {
      if (left < share) return work
      left -= share
    }
    return sayTurn
  }

  async function sayTurn(): Promise<void> {
    const messages = Array.from({ length: turnLength }, (_, i): NewMessage => {
      return { role: i === 0 ? 'user' : 'assistant', content: words(name, turns, i) }
    })
    const appended = await store.append(place.branch, head, messages)
    head = appended.head
    turns++
  }

  /** In the shared conversation another process may be first: that is not an error, and this process
   *  continues from the new head. */
  async function sayToAll(): Promise<void> {
    for (;;) {
      const { head } = await store.getBranch(commons.branch)
      try {
        const said = await store.append(commons.branch, head, [{ role: 'user', content: `${name} was here` }])
        shared.push(said.head)
        return
      } catch (error) {
        if ((error as { code?: string }).code !== 'conflict') throw error
      }
    }
  }

  async function fork(): Promise<void> {
    await forkAt(store, id, head, `fork ${forks++}`)
  }
}

async function forkAt(store: Store, id: ConversationId, at: MessageId | null, name: string): Promise<void> {
  const branch = await store.createBranch(id, at, { name })
  await store.append(branch, at, [{ role: 'user', content: 'Or else?' }])
  await store.deleteBranch(branch)
}

/** Counts how often a write found the file locked, below all waiting and retrying. */
function countMeetings(): void {
  const { prepare } = BetterSqlite3.prototype
  BetterSqlite3.prototype.prepare = function (this: Database, sql: string) {
    const statement = prepare.call(this, sql)
    if (sql !== 'BEGIN IMMEDIATE') return statement
    const run = statement.run.bind(statement) as () => RunResult
    statement.run = () => {
      try {
        return run()
      } catch (error) {
        met++
        throw error
      }
    }
    return statement
  } as typeof prepare
}
