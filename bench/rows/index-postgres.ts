import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurn } from '../workload.ts'

/** Building the search index on PostgreSQL, per message. */

const messages = { quick: 4_000, normal: 40_000 }
/** Of a conversation. */
const longest = 4_000

const whyPairs =
  'of the 247 entries of a message, 160 are pairs of adjacent words, by which a phrase of common words is ' +
  'found in milliseconds (decision 92). On a quiet machine it takes 0.23 ms: 0.07 in the client, and then 0.16 ' +
  'in the server, of which GIN takes 0.12. Other work on the machine adds to both.'

export const indexPostgresSuite: Suite = {
  name: 'index',
  when: 'byName',
  tasks: {},
  async run({ scale }) {
    const server = await startPostgres({ fsync: 'on' })
    try {
      const count = scale.rounds > 2 ? messages.normal : messages.quick
      const took: number[] = []
      for (let round = 0; round < scale.rounds; round++) {
        const url = await server.createDatabase()
        await using store = await openPostgresStore(url, { indexing: 'manual' })
        for (let made = 0; made < count; ) {
          const { branch } = await store.create({ title: `${made}` })
          let head = branch.head
          for (const end = made + longest; made < end; made += 4) {
            const { key, messages: turn } = makeTurn(made)
            head = (await store.append(branch, head, turn, { turn: { key, step: 0 } })).head
          }
        }
        const began = performance.now()
        const indexed = await store.indexSearch()
        took.push((performance.now() - began) / indexed)
        if (indexed !== count) throw new Error(`${indexed} of ${count} messages were indexed`)
      }
      const value = took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)]!
      const line: Line = {
        work: `index of a message on PostgreSQL, ${count.toLocaleString('en')} messages`,
        ours: time(value * 1_000),
        value,
        goal: 0.3,
        note: 'the median of the rounds; the goal is in ms',
        why: whyPairs,
      }
      return [line]
    } finally {
      await server.stop()
    }
  },
}
