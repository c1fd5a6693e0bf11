import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Contender, ContenderName, Durability } from './contender.ts'
import { median } from './measure.ts'
import { makeTurn, workId } from './workload.ts'

/** Appends to the stores of several checkouts, and to the floors, turn by turn in one process. The load of
 *  the machine affects all of them, so a difference of 2 % is visible where separate runs differ by 10.
 *
 *  node bench/compare.ts normal 5000 /path/to/before . floor floor-hash */

const conversations = 20
const warmUp = 1_000

const [durability = 'normal', turns = '5000', ...trees] = process.argv.slice(2)
const place = mkdtempSync(join(tmpdir(), 'skein-compare-'))
try {
  const runners = await Promise.all(trees.map(open))
  for (let i = 0; i < warmUp + Number(turns); i++) {
    const turn = makeTurn(i)
    const id = workId(i % conversations)
    for (let k = 0; k < runners.length; k++) {
      const { contender, heads, times } = runners[(k + i) % runners.length]!
      const start = performance.now()
      heads.set(id, await contender.append(id, heads.get(id) ?? null, turn))
      if (i >= warmUp) times.push((performance.now() - start) * 1_000)
      await new Promise(setImmediate)
    }
  }
  const [first] = runners
  for (const { tree, times, contender } of runners) {
    const ratio = median(times.map((time, i) => time / first!.times[i]!))
    const quick = times.toSorted((a, b) => a - b)[Math.floor(times.length / 10)]!
    console.log(
      `${tree}: ${quick.toFixed(0)} µs (tenth percentile), ${median(times).toFixed(0)} µs (middle), ` +
        `${ratio.toFixed(3)} × the first, turn by turn`,
    )
    await contender.close()
  }
} finally {
  rmSync(place, { recursive: true, force: true })
}

async function open(tree: string, number: number) {
  const isFloor = tree === 'floor' || tree === 'floor-hash'
  const name: ContenderName = isFloor ? tree : 'ours'
  const from = isFloor ? import.meta.dirname : resolve(tree, 'bench')
  const { openContender } = (await import(join(from, 'contender.ts'))) as typeof import('./contender.ts')
  const contender: Contender = await openContender(
    name,
    join(place, `${number}.db`),
    durability as Durability,
  )
  for (let i = 0; i < conversations; i++) await contender.create(workId(i), `conversation ${i}`)
  return { tree, contender, heads: new Map<string, string | null>(), times: [] as number[] }
}
