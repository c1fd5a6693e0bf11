import { join } from 'node:path'
import { type FollowLoadResult, followLoad } from '../../test/server/follow/follow-load.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import type { Bench, Line, Suite } from '../suite.ts'

/** Followers of the HTTP service: 200 streams of 50 conversations at two server processes of one store, and
 *  50 writers with an append a second each. The clients are in the measuring process. */

const followers = 200
const conversations = 50

async function measure(target: string, { scale }: Bench): Promise<FollowLoadResult> {
  const seconds = scale.history >= 100_000 ? 60 : 20
  return followLoad({ target, followers, conversations, seconds, firstSecond: 10 })
}

function linesOf(engine: string, result: FollowLoadResult): readonly Line[] {
  const { latencies, perFollower, growth, faults, appends, deliveries } = result
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.POSITIVE_INFINITY
  const work = (what: string) => `${followers} followers, ${engine}: ${what}`
  const kB = (bytes: number) => `${(bytes / 1_000).toFixed(1)} kB`
  return [
    {
      work: work('missing, doubled or out of order'),
      ours: `${faults.length}`,
      value: faults.length,
      goal: 0,
      note: faults[0] ?? `${appends} appends, ${deliveries} deliveries`,
    },
    {
      work: work('from the append to the event, p95'),
      ours: `${at(0.95).toFixed(0)} ms`,
      value: at(0.95),
      goal: 400,
      note: `p50 ${at(0.5).toFixed(0)} ms, longest ${at(1 - 1e-9).toFixed(0)} ms`,
    },
    {
      work: work('memory at the end ÷ at 10 s'),
      ours: growth.resident.toFixed(2),
      value: growth.resident,
      goal: 1.2,
      note: `heap ${growth.heap.toFixed(2)}`,
    },
    {
      work: work('memory of a follower'),
      ours: kB(perFollower.resident),
      value: perFollower.resident / 1_000,
      goal: 40,
      note: `the goal is in kB; heap and buffers ${kB(perFollower.heap)}`,
    },
  ]
}

export const followSuite: Suite = {
  name: 'follow',
  when: 'byName',
  tasks: {},
  async run(bench) {
    const onFile = linesOf('SQLite', await measure(join(bench.place, 'follow.db'), bench))
    const server = await startPostgres({ fsync: 'on' })
    try {
      return [...onFile, ...linesOf('PostgreSQL', await measure(await server.createDatabase(), bench))]
    } finally {
      await server.stop()
    }
  },
}
