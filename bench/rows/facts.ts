import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { openStore } from '../../src/stores/open.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { median, middleOf, pairedRatio, timeEach } from '../measure.ts'
import { type Line, rounds, seriesOf, time } from '../suite.ts'
import { startServer } from './http-child.ts'

/** What a list shows of each conversation: of a page of 50 against a page of 5. The number of statements is
 *  the same. In the process of an embedded engine nothing else is constant, so even the ids and versions of
 *  50 conversations, one row of one index each, take more than 3 times as long as those of 5. */

/** Microseconds: over HTTP, by the store, and of ids and versions alone. */
interface Facts {
  readonly httpFew: number
  readonly httpMany: number
  readonly few: number
  readonly many: number
  readonly versionsFew: number
  readonly versionsMany: number
}

const fewFacts = 5
const manyFacts = 50
const groups = 8
const calls = 40

export async function* facts({ target }: { target: string }): AsyncGenerator<Facts> {
  await using store = await openStore(target, { indexing: 'manual' })
  for (let n = 0; n < manyFacts; n++) {
    const { branch } = await store.create({ title: `Conversation ${n}` })
    const words = [{ role: 'user', content: `question ${n}` }] as const
    await store.append(branch, null, words, { turn: { key: 't', step: 0 } })
  }
  const { items } = await store.listConversations({ limit: manyFacts })
  const ids = items.map(({ id }) => id)
  using server = await startServer('ours', target)
  const agent = new Agent({ keepAlive: true })
  const http = async (count: number) => median(await timeEach(calls, () => list(server.port, agent, count)))
  const read = async (count: number) =>
    median(await timeEach(calls, () => store.readOverviews(items.slice(0, count))))
  const versions = async (count: number) =>
    median(await timeEach(calls, () => store.versionsOf(ids.slice(0, count))))
  await http(manyFacts)
  for (let group = 0; group < groups; group++) {
    yield {
      httpFew: await http(fewFacts),
      httpMany: await http(manyFacts),
      few: await read(fewFacts),
      many: await read(manyFacts),
      versionsFew: await versions(fewFacts),
      versionsMany: await versions(manyFacts),
    }
  }
  agent.destroy()
}

async function list(port: number, agent: Agent, limit: number): Promise<void> {
  const headers = { authorization: 'Bearer skein_benchmark' }
  const call = request({ port, agent, headers, path: `/api/v1/conversations?limit=${limit}` })
  call.end()
  const [response] = await once(call, 'response')
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`the list has status ${response.statusCode}`)
}

async function linesOn(engine: string, target: string): Promise<readonly Line[]> {
  const { all } = await rounds<'all', Facts>(1, ['all'], { suite: 'http', task: 'facts' }, () => ({ target }))
  const line = (work: string, few: keyof Facts, many: keyof Facts): Line => ({
    work: `${work} of ${manyFacts} conversations ÷ of ${fewFacts}, ${engine}`,
    floor: time(middleOf(seriesOf(all, few))),
    ours: time(middleOf(seriesOf(all, many))),
    ratio: pairedRatio(seriesOf(all, many), seriesOf(all, few)),
  })
  return [
    { ...line('HTTP: facts', 'httpFew', 'httpMany'), goal: 3 },
    line('store: facts', 'few', 'many'),
    line('store: ids and versions', 'versionsFew', 'versionsMany'),
  ]
}

export async function factsLines(place: string): Promise<readonly Line[]> {
  const onFile = await linesOn('SQLite', join(place, 'http-facts.db'))
  const server = await startPostgres({ fsync: 'on' })
  try {
    return [...onFile, ...(await linesOn('PostgreSQL', await server.createDatabase()))]
  } finally {
    await server.stop()
  }
}
