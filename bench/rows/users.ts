import { join } from 'node:path'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { SearchFilter } from '../../src/core/listing.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { median, middleOf, pairedRatio, timeEach } from '../measure.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** One user's searches and lists in a store with many users, against a store with the same conversations of
 *  that user alone. A user has 1,000 messages in 20 conversations, with a key, metadata, a tag, a channel, a
 *  project and a label of their own. The two stores alternate in one process. */

const conversationsEach = 20
const messagesEach = 50
const groups = 8

const whySearch =
  'a search looks up each word and each conversation in each segment of the index. Its merges leave up to 16 segments among many users, and 6 of one user alone. Merged to one segment, both take the same processor time (decision 86).'

/** The user whose conversations are looked for. */
const one = 7

const filters: Readonly<Record<string, SearchFilter>> = {
  'key prefix': { keyPrefix: `user:${one}:` },
  metadata: { metadata: { user: `u${one}` } },
  tag: { tag: `user-${one}` },
  channel: { channel: `channel-${one}` },
  project: { project: `project-${one}` },
  'label prefix': { labelPrefix: `user.${one}.` },
}

const firstSaid = Date.parse('2020-01-01')

/** One message in five contains "common". */
function messageOf(number: number): NewMessage {
  const { text } = makeTurn(number % 1_000).messages[0].content[0] as { text: string }
  return {
    role: number % 2 === 0 ? 'user' : 'assistant',
    createdAt: new Date(firstSaid + number * 10_000),
    content: `${number % 5 === 0 ? 'common ' : ''}${number} ${text.slice(0, 190)}`,
  }
}

/** The users take turns, so that the newest conversations are of all of them. */
async function fill(store: Store, users: readonly number[]): Promise<void> {
  for (let n = 0; n < conversationsEach; n++) {
    for (const user of users) {
      const number = n * 10_000 + user
      const { branch } = await store.create({
        id: workId(number) as ConversationId,
        key: `user:${user}:${n}`,
        metadata: { user: `u${user}`, app: 'shop' },
        tags: [`user-${user}`, 'shop'],
        channel: `channel-${user}`,
        project: `project-${user}`,
        label: `user.${user}.${n}`,
      })
      const messages = Array.from({ length: messagesEach }, (_, i) => messageOf(number * messagesEach + i))
      await store.append(branch, null as MessageId | null, messages as [NewMessage, ...NewMessage[]])
    }
  }
  await store.indexSearch()
}

interface Stores {
  readonly alone: Store
  readonly among: Store
}

async function compare(engine: string, stores: Stores, rounds: number, users: number): Promise<Line[]> {
  await fill(stores.alone, [one])
  await fill(
    stores.among,
    Array.from({ length: users }, (_, user) => user),
  )
  const lines: Line[] = []
  for (const [name, filter] of Object.entries(filters)) {
    const works: Record<string, (store: Store) => Promise<unknown>> = {
      search: async store => {
        const { items } = await store.search('common', { ...filter, order: 'newest' })
        if (items.length !== 20) throw new Error(`found ${items.length} by ${name}`)
      },
      list: async store => {
        const { items } = await store.listConversations(filter)
        if (items.length !== conversationsEach) throw new Error(`listed ${items.length} by ${name}`)
      },
    }
    for (const [what, work] of Object.entries(works)) {
      const took = { alone: [] as number[][], among: [] as number[][] }
      for (const store of [stores.alone, stores.among]) await timeEach(10, () => work(store))
      for (let round = 0; round < rounds; round++) {
        for (const series of Object.values(took)) series.push([])
        for (let group = 0; group < groups; group++) {
          const order = ['alone', 'among'] as const
          for (const which of group % 2 === 0 ? order : order.toReversed())
            took[which][round]!.push(median(await timeEach(5, () => work(stores[which]))))
        }
      }
      lines.push({
        work: `${engine}: ${what} by ${name}, ${users.toLocaleString('en')} users ÷ one alone`,
        floor: time(middleOf(took.alone)),
        ours: time(middleOf(took.among)),
        ratio: pairedRatio(took.among, took.alone),
        goal: 2,
        ...(what === 'search' && engine === 'SQLite' && { why: whySearch }),
      })
    }
  }
  return lines
}

export const usersSuite: Suite = {
  name: 'users',
  when: 'byName',
  tasks: {},
  async run({ scale, place }) {
    const users = Math.max(one + 1, Math.round(scale.searched / conversationsEach / messagesEach))
    const rounds = Math.min(3, scale.rounds)
    const open = (name: string) =>
      openSqliteStore(join(place, `users-${name}.db`), { durability: 'normal', indexing: 'manual' })
    await using alone = await open('alone')
    await using among = await open('among')
    const lines = await compare('SQLite', { alone, among }, rounds, users)
    const server = await startPostgres()
    try {
      const openDatabase = async () =>
        openPostgresStore(await server.createDatabase(), { pool: { max: 1 }, indexing: 'manual' })
      await using postgresAlone = await openDatabase()
      await using postgresAmong = await openDatabase()
      const stores = { alone: postgresAlone, among: postgresAmong }
      lines.push(...(await compare('PostgreSQL', stores, rounds, users)))
    } finally {
      await server.stop()
    }
    return lines
  },
}
