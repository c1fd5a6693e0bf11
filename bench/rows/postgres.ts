import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import { pathOf } from '../../src/core/path.ts'
import { openStore } from '../../src/stores/open.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import {
  makeFloorTables,
  openPostgresFloor,
  type PostgresContender,
  whyAppendTakesLonger,
} from '../floor-postgres.ts'
import { median, middleOf, pairedRatio, timeEach } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'
import { makeTurn, makeTurns, workId } from '../workload.ts'

const names = ['floor', 'ours'] as const
type Name = (typeof names)[number]

const warmUp = 300
const groups = 12

/** Conversations that are filled in turn, and two that are only read. */
const growing = Array.from({ length: 20 }, (_, i) => workId(i))
const of500 = workId(500)
const of5000 = workId(5_000)

interface Args {
  readonly name: Name
  readonly url: string
  readonly from: number
}

interface Measured {
  readonly append: number
  readonly of500: number
  readonly of5000: number
}

async function openOurs(url: string): Promise<PostgresContender> {
  const store = await openStore(url)
  const main = (id: string) => ({ conversationId: id as ConversationId, name: 'main' })
  return {
    async create(id, title) {
      await store.create({ id: id as ConversationId, title })
    },
    head: async id => (await store.getBranch(main(id))).head,
    async append(id, head, { key, model, usage, messages }) {
      const turn = { key, step: 0, model, usage }
      return (await store.append(main(id), head as MessageId | null, messages, { turn })).head
    },
    load: async (_, head) => (await pathOf(store, head as MessageId)).length,
    tail: async (_, head, messages) => (await store.tail(head as MessageId, { messages })).messages.length,
    close: () => store.close(),
  }
}

async function fill({ name, url }: Args): Promise<null> {
  if (name === 'floor') await makeFloorTables(url)
  const contender = await open(name, url)
  let turns = 0
  const grow = async (id: string, count: number) => {
    await contender.create(id, 'a conversation')
    let head: string | null = null
    for (let i = 0; i < count; i++) head = await contender.append(id, head, makeTurn(turns++))
  }
  for (const id of growing) await grow(id, 25)
  await grow(of500, 125)
  await grow(of5000, 1_250)
  await contender.close()
  return null
}

async function* measure({ name, url, from }: Args): AsyncGenerator<Measured> {
  const contender = await open(name, url)
  const heads = new Map<string, string | null>()
  for (const id of [...growing, of500, of5000]) heads.set(id, await contender.head(id))
  const turns = makeTurns(from, warmUp + groups * 20)
  const append = async (i: number) => {
    const id = growing[i % growing.length]!
    heads.set(id, await contender.append(id, heads.get(id)!, turns.pop()!))
  }
  const loader = (id: string) => () => contender.load(id, heads.get(id)!)
  await timeEach(warmUp, append)
  await timeEach(20, loader(of500))
  await timeEach(3, loader(of5000))
  for (let group = 0; group < groups; group++) {
    yield {
      append: median(await timeEach(20, append)),
      of500: median(await timeEach(3, loader(of500))),
      of5000: median(await timeEach(1, loader(of5000))),
    }
  }
  await contender.close()
}

function open(name: Name, url: string): Promise<PostgresContender> {
  return name === 'floor' ? openPostgresFloor(url) : openOurs(url)
}

export const postgresSuite: Suite = {
  name: 'postgres',
  tasks: { fill, measure },
  async run(bench) {
    if (!existsSync(join(import.meta.dirname, '../../src/stores/postgres/index.ts'))) {
      return [{ work: 'PostgreSQL', ours: 'no driver yet' }]
    }
    const server = await startPostgres({ fsync: 'on' })
    try {
      const urls = { floor: await server.createDatabase(), ours: await server.createDatabase() }
      const args = (name: Name, round = -1): Args => ({
        name,
        url: urls[name],
        from: 1_000_000 + round * 1_000,
      })
      for (const name of names) await inFreshProcess({ suite: 'postgres', task: 'fill', args: args(name) })
      const measured = await rounds<Name, Measured>(
        bench.scale.rounds,
        names,
        { suite: 'postgres', task: 'measure' },
        args,
      )
      const line = (work: string, key: keyof Measured, goal: number): Line => {
        const [floor, ours] = [seriesOf(measured.floor, key), seriesOf(measured.ours, key)]
        return {
          work: `PostgreSQL: ${work}`,
          floor: time(middleOf(floor)),
          ours: time(middleOf(ours)),
          ratio: pairedRatio(ours, floor),
          goal,
        }
      }
      return [
        { ...line('append a turn, synchronous commit', 'append', 1.3), why: whyAppendTakesLonger },
        line('load 500 messages', 'of500', 1.2),
        line('load 5,000 messages', 'of5000', 1.2),
      ]
    } finally {
      await server.stop()
    }
  },
}
