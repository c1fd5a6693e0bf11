import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { median, middleOf, timeEach } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** Fifty messages per conversation, of about 200 characters, one every ten seconds. One in five contains
 *  "common", one in 15,000 "rarely". */
async function fill({ file, count }: { file: string; count: number }): Promise<{ perMessage: number }> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db, { indexing: 'manual' })
  for (let from = 0; from < count; from += 50) {
    if (from % 5_000 === 0) db.exec('BEGIN')
    const { branch } = await store.create({ id: workId(from) as ConversationId })
    const messages = Array.from({ length: 50 }, (_, i) => messageOf(from + i))
    const ref = { conversationId: branch.conversationId, name: 'main' }
    await store.append(ref, null as MessageId | null, messages)
    if (from % 5_000 === 4_950) db.exec('COMMIT')
  }
  const start = performance.now()
  const indexed = await store.indexSearch()
  const perMessage = ((performance.now() - start) * 1_000) / indexed
  if (indexed !== count) throw new Error(`indexed ${indexed} of ${count}`)
  db.close()
  return { perMessage }
}

const texts: string[] = []
const firstSaid = Date.parse('2020-01-01')

function messageOf(number: number): NewMessage {
  if (texts.length === 0) {
    for (let i = 0; i < 1_000; i++) texts.push((makeTurn(i).messages[0].content[0] as { text: string }).text)
  }
  const marks = `${number % 5 === 0 ? 'common ' : ''}${number % 15_000 === 77 ? 'rarely ' : ''}`
  const role = number % 2 === 0 ? 'user' : 'assistant'
  const at = new Date(firstSaid + number * 10_000)
  return { role, createdAt: at, content: `${marks}${number} ${texts[number % 1_000]!.slice(0, 190)}` }
}

const questions = {
  rare: { query: 'rarely', order: 'newest' },
  common: { query: 'common', order: 'newest' },
  both: { query: 'common rarely', order: 'newest' },
  phrase: { query: '"error function"', order: 'newest' },
  // Words that are never adjacent, each in a fifth of the messages or more.
  commonPhrase: { query: '"the common"', order: 'newest' },
  prefix: { query: 'comm*', order: 'newest' },
  twoLetters: { query: 're*', order: 'newest' },
  rarePrefix: { query: 'rarel*', order: 'newest' },
  ranked: { query: 'common', order: 'ranked' },
  rankedTwo: { query: 'common error', order: 'ranked' },
} as const

type Question = keyof typeof questions

/** Milliseconds. */
function goalOf(name: Question): number {
  if (name === 'commonPhrase') return 500
  if (name === 'rankedTwo') return 20
  return name === 'ranked' ? 15 : 5
}

const warmUp = 6
const groups = 8

async function* search({ file }: { file: string }): AsyncGenerator<Record<Question, number>> {
  const store = await openSqliteStore(file, { durability: 'normal' })
  for (let group = 0; group < warmUp + groups; group++) {
    const measured = {} as Record<Question, number>
    for (const [name, { query, order }] of Object.entries(questions)) {
      const times = await timeEach(order === 'ranked' ? 1 : 5, () => store.search(query, { order }))
      measured[name as Question] = median(times)
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
    const lines = (Object.keys(questions) as Question[]).map((name): Line => {
      const us = middleOf(seriesOf(ours, name))
      const { query, order } = questions[name]
      return {
        work: `search ${count.toLocaleString('en')} messages: ${query}, ${order}`,
        ours: time(us),
        value: us / 1_000,
        goal: goalOf(name),
        note: count < 1_000_000 ? 'the goal is in ms, for 1,000,000' : 'the goal is in ms',
      }
    })
    return [...lines, { work: 'indexing a message after the commit', ours: time(perMessage) }]
  },
}
