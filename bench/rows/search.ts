import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { median, middleOf, timeEach } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import {
  addSearched,
  goalOf,
  messagesEach,
  type Question,
  questionNames,
  questions,
  rowOf,
} from '../searched.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'

async function fill({ file, count }: { file: string; count: number }): Promise<{ perMessage: number }> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db, { indexing: 'manual' })
  for (let from = 0; from < count; from += messagesEach) {
    if (from % 5_000 === 0) db.exec('BEGIN')
    await addSearched(store, from)
    if (from % 5_000 === 4_950) db.exec('COMMIT')
  }
  const start = performance.now()
  const indexed = await store.indexSearch()
  const perMessage = ((performance.now() - start) * 1_000) / indexed
  if (indexed !== count) throw new Error(`indexed ${indexed} of ${count}`)
  db.close()
  return { perMessage }
}

const warmUp = 6
const groups = 8

async function* search({ file }: { file: string }): AsyncGenerator<Record<Question, number>> {
  const store = await openSqliteStore(file, { durability: 'normal' })
  for (let group = 0; group < warmUp + groups; group++) {
    const measured = {} as Record<Question, number>
    for (const name of questionNames) {
      const { query, order } = questions[name]
      const times = await timeEach(order === 'ranked' ? 1 : 5, () => store.search(query, { order }))
      measured[name] = median(times)
    }
    if (group >= warmUp) yield measured
  }
  await store.close()
}

export const searchSuite: Suite = {
  name: 'search',
  tasks: { fill, search },
  async run(bench) {
    const count = bench.scale.searched
    const file = join(bench.place, 'search.db')
    const { perMessage } = await inFreshProcess<{ perMessage: number }>({
      suite: 'search',
      task: 'fill',
      args: { file, count },
    })
    const { ours } = await rounds<'ours', Record<Question, number>>(
      Math.min(3, bench.scale.rounds),
      ['ours'],
      { suite: 'search', task: 'search' },
      () => ({ file }),
    )
    const lines = questionNames.map((name): Line => {
      const us = middleOf(seriesOf(ours, name))
      return {
        work: rowOf(name, count),
        ours: time(us),
        value: us / 1_000,
        goal: goalOf(name),
        note: count < 1_000_000 ? 'the goal is in ms, for 1,000,000' : 'the goal is in ms',
      }
    })
    return [...lines, { work: 'indexing a message after the commit', ours: time(perMessage) }]
  },
}
