import { join } from 'node:path'
import { type ContenderName, openContender } from '../contender.ts'
import { median, pairedRatio, timeEach } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Bench, type Line, rounds, type Suite, time } from '../suite.ts'
import { workId } from '../workload.ts'

const names = ['floor', 'ours'] as const

interface FillArgs {
  readonly name: ContenderName
  readonly file: string
  readonly count: number
}

async function fill({ name, file, count }: FillArgs): Promise<null> {
  const contender = await openContender(name, file, 'off')
  contender.beginBulk()
  for (let i = 0; i < count; i++) await contender.create(workId(i), `what was asked for the ${i}th time`)
  contender.endBulk()
  await contender.close()
  return null
}

async function list({ name, file }: FillArgs): Promise<number> {
  const contender = await openContender(name, file, 'normal')
  const one = async () => {
    if ((await contender.list()) !== 20) throw new Error(`${name} did not list 20`)
  }
  await timeEach(2_000, one)
  const middle = median(await timeEach(2_000, one))
  await contender.close()
  return middle
}

export const listSuite: Suite = {
  name: 'list',
  tasks: { fill, list },
  async run(bench) {
    const [few, many] = bench.scale.conversations
    const atFew = await listAt(bench, few)
    const atMany = await listAt(bench, many)
    return [
      lineOf(few, atFew),
      lineOf(many, atMany),
      {
        work: `list at ${many.toLocaleString('en')} ÷ at ${few.toLocaleString('en')}`,
        floor: pairedRatio(atMany.floor, atFew.floor).middle.toFixed(2),
        ours: 'see above',
        ratio: pairedRatio(atMany.ours, atFew.ours),
        goal: 1.2,
      },
    ]
  },
}

async function listAt(bench: Bench, count: number): Promise<Record<'floor' | 'ours', number[]>> {
  const args = (name: ContenderName): FillArgs => ({
    name,
    file: join(bench.place, `list-${name}-${count}.db`),
    count,
  })
  for (const name of names) await inFreshProcess({ suite: 'list', task: 'fill', args: args(name) })
  return rounds(bench.scale.rounds, names, { suite: 'list', task: 'list' }, args)
}

function lineOf(count: number, { floor, ours }: Record<'floor' | 'ours', number[]>): Line {
  return {
    work: `list 20 of ${count.toLocaleString('en')} conversations`,
    floor: time(median(floor)),
    ours: time(median(ours)),
    ratio: pairedRatio(ours, floor),
    goal: 2,
  }
}
