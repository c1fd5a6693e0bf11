import type { Store } from '../../src/core/ports.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { median, middleOf, timeEach } from '../measure.ts'
import { type ProcessorTime, processorTimeOf } from '../processor-time.ts'
import {
  addSearched,
  goalOf,
  messagesEach,
  type Question,
  questionNames,
  questions,
  rowOf,
} from '../searched.ts'
import { type Line, type Suite, time } from '../suite.ts'

/** The searches of `search`, on PostgreSQL. SKEIN_BENCH_SEARCHED_URL names a database that is filled by the
 *  first run and searched by the next ones. */

/** Why goals are missed, also on a quiet machine. */
const reasons: Partial<Record<Question, string>> = {
  phrase: 'the index compares the lists of both words, of their pair and of a stretch of time (decision 92).',
  rarePrefix: 'the newest 64 messages are read too, and decide whether a prefix is common.',
  ranked: whyRanked(15, 8),
  rankedTwo: whyRanked(22, 7),
}

/** Milliseconds. */
function whyRanked(server: number, client: number): string {
  return (
    `2,000 messages are found and read, ${server} ms of the server's processor time, and then decoded and ` +
    `weighed, ${client} ms of the client's (decision 95).`
  )
}

/** Conversations that are written at once. */
const writers = 8
const warmUp = 6
const groups = 8

async function fill(store: Store, count: number): Promise<void> {
  let next = 0
  const write = async () => {
    while (next < count) {
      const from = next
      next += messagesEach
      await addSearched(store, from)
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  const indexed = await store.indexSearch()
  if (indexed !== count) throw new Error(`indexed ${indexed} of ${count}`)
}

/** Microseconds of one search. */
interface Measured {
  readonly elapsed: number[]
  /** Of this process and the server. */
  readonly worked: number[]
}

async function measure(store: Store, processors: ProcessorTime | null, name: Question): Promise<Measured> {
  const { query, order } = questions[name]
  const calls = order === 'ranked' ? 1 : 5
  const measured: Measured = { elapsed: [], worked: [] }
  for (let group = 0; group < warmUp + groups; group++) {
    const before = await processors?.read()
    const times = await timeEach(calls, () => store.search(query, { order }))
    const after = await processors?.read()
    if (group < warmUp) continue
    measured.elapsed.push(median(times))
    if (before !== undefined && after !== undefined) measured.worked.push((after - before) / calls)
  }
  return measured
}

export const searchPostgresSuite: Suite = {
  name: 'search-postgres',
  when: 'byName',
  tasks: {},
  async run({ scale }) {
    const count = scale.searched
    const kept = process.env.SKEIN_BENCH_SEARCHED_URL
    const server = kept === undefined ? await startPostgres() : null
    try {
      const url = kept ?? (await server!.createDatabase())
      await using store = await openPostgresStore(url, { pool: { max: 4 }, indexing: 'manual' })
      const messages = (await store.countConversations()) * messagesEach
      if (messages === 0) await fill(store, count)
      else if (messages !== count)
        throw new Error(`the database has ${messages} messages instead of ${count}`)
      await using processors = await processorTimeOf([url])
      const rounds = Math.min(3, scale.rounds)
      const found = new Map<Question, Measured[]>(questionNames.map(name => [name, []]))
      for (let round = 0; round < rounds; round++)
        for (const name of questionNames) found.get(name)!.push(await measure(store, processors, name))
      return questionNames.map((name): Line => {
        const us = middleOf(found.get(name)!.map(({ elapsed }) => elapsed))
        const worked = found.get(name)!.flatMap(one => one.worked)
        const goal = count < 1_000_000 ? 'the goal is in ms, for 1,000,000' : 'the goal is in ms'
        return {
          work: `PostgreSQL: ${rowOf(name, count)}`,
          ours: time(us),
          value: us / 1_000,
          goal: goalOf(name),
          ...(reasons[name] && { why: reasons[name] }),
          note: worked.length === 0 ? goal : `${goal}; processor time ${time(median(worked))}`,
        }
      })
    } finally {
      await server?.stop()
    }
  },
}
