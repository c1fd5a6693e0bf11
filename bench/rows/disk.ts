import { join } from 'node:path'
import { makeSlowSyncs } from '../../test/support/slow-syncs.ts'
import { type ContenderName, openContender } from '../contender.ts'
import { longestBlock } from '../longest-block.ts'
import { median } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import type { Line, Suite } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** Appends to a disk whose syncs take 20 ms longer: how long they block the event loop, and how many callers
 *  share a sync. */

const syncMs = 20
const turnsOfCaller = 25
const callerCounts = [1, 8] as const

interface WriteArgs {
  readonly name: ContenderName
  readonly file: string
  readonly callers: number
}

interface Written {
  /** Milliseconds. */
  readonly block: number
  readonly turnsPerSecond: number
}

async function write({ name, file, callers }: WriteArgs): Promise<Written> {
  const contender = await openContender(name, file, 'full')
  const ids = Array.from({ length: callers }, (_, i) => workId(i))
  for (const id of ids) await contender.create(id, 'on a slow disk')
  const appendAll = async (id: string, from: number, count: number) => {
    let head = await contender.head(id)
    for (let i = from; i < from + count; i++)
      head = await contender.append(id, head, { ...makeTurn(i), key: `turn-${id}-${i}` })
  }
  // A store learns from a sync how long they take.
  for (const id of ids) await appendAll(id, 0, 3)
  const start = performance.now()
  const { ms } = await longestBlock(() => Promise.all(ids.map(id => appendAll(id, 3, turnsOfCaller))))
  const seconds = (performance.now() - start) / 1_000
  await contender.close()
  return { block: ms, turnsPerSecond: (callers * turnsOfCaller) / seconds }
}

export const diskSuite: Suite = {
  name: 'disk',
  when: 'byName',
  tasks: { write },
  async run({ place, scale }) {
    const env = makeSlowSyncs(place)
    if (!env) return [{ work: `appends, a sync takes ${syncMs} ms more`, ours: 'not run: no C compiler' }]
    const lines: Line[] = []
    for (const callers of callerCounts) {
      const found = { floor: [] as Written[], ours: [] as Written[] }
      for (let round = 0; round < scale.rounds; round++) {
        for (const name of ['floor', 'ours'] as const) {
          const args: WriteArgs = { name, file: join(place, `disk-${name}-${callers}-${round}.db`), callers }
          const task = { suite: 'disk', task: 'write', args, env: { ...env, SLOW_SYNC_MS: String(syncMs) } }
          found[name].push(await inFreshProcess<Written>(task))
        }
      }
      const block = (all: readonly Written[]) => median(all.map(one => one.block))
      const speed = (all: readonly Written[]) => median(all.map(one => one.turnsPerSecond))
      const work = `a sync takes ${syncMs} ms more, ${callers} ${callers === 1 ? 'caller' : 'callers'}`
      lines.push(
        {
          work: `${work}: longest block of the event loop`,
          floor: `${block(found.floor).toFixed(1)} ms`,
          ours: `${block(found.ours).toFixed(1)} ms`,
          value: block(found.ours),
          goal: 50,
          note: 'the goal is in ms',
        },
        {
          work: `${work}: turns a second`,
          floor: speed(found.floor).toFixed(0),
          ours: speed(found.ours).toFixed(0),
          ratio: speed(found.ours) / speed(found.floor),
        },
      )
    }
    return lines
  },
}
