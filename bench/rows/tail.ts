import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import type { BranchRef } from '../../src/core/branch.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { median, pairedRatio } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, rounds, type Suite, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

const budget = 128_000
const branches = 50

const warmUp = 30
const groups = 40

type Tree = 'short' | 'long' | 'interleaved' | 'forked'

interface TailArgs {
  readonly file: string
  readonly heads: Record<Tree, string>
}

interface Measured {
  readonly us: number
  readonly messages: number
}

/** One file: 1,000 messages in a row; 100,000 in a row; 50 branches that grow in turn; and a fork at message
 *  10 of the 100,000, extended by 400. */
async function fill({ file, history }: { file: string; history: number }): Promise<Record<Tree, string>> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db)
  let turns = 0

  const short = await linear(0, 250)
  const long = await linear(1, history / 4)
  const tenth = (await pathOf(store, long.early))[9]!.id
  await store.createBranch(long.place.conversationId, tenth, { name: 'fork' })
  const forked = await grow({ ...long.place, name: 'fork' }, tenth, 100)
  const interleaved = await inTurn(2, 200)
  db.close()
  return { short: short.head, long: long.head, forked, interleaved }

  async function linear(number: number, count: number) {
    const { branch } = await store.create({ id: workId(number) as ConversationId })
    const early = await grow(branch, null, 10)
    return { place: branch, early, head: await grow(branch, early, count - 10) }
  }

  async function inTurn(number: number, count: number): Promise<MessageId> {
    const { branch } = await store.create({ id: workId(number) as ConversationId })
    const trunk = await grow(branch, null, 5)
    const names = Array.from({ length: branches }, (_, i) => `branch-${i}`)
    const heads = new Map<string, MessageId>(names.map(name => [name, trunk]))
    for (const name of names) await store.createBranch(branch.conversationId, trunk, { name })
    for (let step = 0; step < count; step++) {
      db.exec('BEGIN')
      for (const name of names) heads.set(name, await say({ ...branch, name }, heads.get(name)!))
      db.exec('COMMIT')
    }
    return heads.get('branch-17')!
  }

  async function grow(branch: BranchRef, from: MessageId | null, count: number): Promise<MessageId> {
    let head = from
    for (let done = 0; done < count; ) {
      db.exec('BEGIN')
      for (let i = 0; i < 500 && done < count; i++, done++) head = await say(branch, head)
      db.exec('COMMIT')
    }
    return head!
  }

  async function say(branch: BranchRef, head: MessageId | null): Promise<MessageId> {
    const { key, messages } = makeTurn(turns++)
    const ref = { conversationId: branch.conversationId, name: branch.name }
    return (await store.append(ref, head, messages, { turn: { key, step: 0 } })).head
  }
}

async function* tail({ file, heads }: TailArgs): AsyncGenerator<Record<Tree, Measured>> {
  const store: Store = await openSqliteStore(file, { durability: 'normal' })
  // Alternating, so that a slow moment affects all of them.
  for (let group = 0; group < warmUp + groups; group++) {
    const measured = {} as Record<Tree, Measured>
    for (const [tree, head] of Object.entries(heads) as [Tree, MessageId][]) {
      const start = performance.now()
      const { messages } = await store.tail(head, { tokens: budget })
      measured[tree] = { us: (performance.now() - start) * 1_000, messages: messages.length }
    }
    if (group >= warmUp) yield measured
  }
  await store.close()
}

export const tailSuite: Suite = {
  name: 'tail',
  tasks: { fill, tail },
  async run(bench) {
    const { history } = bench.scale
    const file = join(bench.place, 'tail.db')
    const heads = await inFreshProcess<Record<Tree, string>>({
      suite: 'tail',
      task: 'fill',
      args: { file, history },
    })
    const { ours } = await rounds<'ours', Record<Tree, Measured>>(
      bench.scale.rounds,
      ['ours'],
      { suite: 'tail', task: 'tail' },
      () => ({ file, heads }),
    )
    const all = history.toLocaleString('en')
    const each = (tree: Tree) =>
      ours.map(groups => groups.map(group => group[tree].us / group[tree].messages))
    const shown = (tree: Tree) => {
      const groups = ours.flat().map(group => group[tree])
      return `${time(median(groups.map(({ us }) => us)))}, ${groups[0]!.messages} messages`
    }
    const line = (work: string, tree: Tree, than: Tree, goal: number): Line => ({
      work,
      floor: shown(than),
      ours: shown(tree),
      ratio: pairedRatio(each(tree), each(than)),
      goal,
      note: 'a message of the tail',
    })
    return [
      line(`tail of 128k tokens: of ${all} ÷ of 1,000`, 'long', 'short', 1.2),
      line(`tail: ${branches} interleaved branches ÷ linear`, 'interleaved', 'long', 2),
      line(`tail: fork at message 10 of ${all} ÷ linear`, 'forked', 'long', 2),
    ]
  },
}
