import { join } from 'node:path'
import { type ContenderName, openContender } from '../contender.ts'
import { median, middleOf, pairedRatio, timeEach } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'
import { workId } from '../workload.ts'

const names = ['floor', 'ours'] as const
const groups = 12

interface FillArgs {
  readonly name: ContenderName
  readonly file: string
  readonly count: number
}

interface ListArgs {
  readonly name: ContenderName
  readonly few: string
  readonly many: string
}

async function fill({ name, file, count }: FillArgs): Promise<null> {
  const contender = await openContender(name, file, 'off')
  contender.beginBulk()
  for (let i = 0; i < count; i++) await contender.create(workId(i), `what was asked for the ${i}th time`)
  contender.endBulk()
  await contender.close()
  return null
}

/** Microseconds. */
interface Lists {
  readonly atFew: number
  readonly atMany: number
}

async function* list({ name, few, many }: ListArgs): AsyncGenerator<Lists> {
  const lister = async (file: string) => {
    const contender = await openContender(name, file, 'normal')
    return async () => {
      if ((await contender.list()) !== 20) throw new Error(`${name} did not list 20`)
    }
  }
  const [listFew, listMany] = [await lister(few), await lister(many)]
  await timeEach(1_000, listFew)
  await timeEach(1_000, listMany)
  for (let group = 0; group < groups; group++) {
    yield { atFew: median(await timeEach(100, listFew)), atMany: median(await timeEach(100, listMany)) }
  }
}

const whyList =
  'SQLite finds the rows in 7 µs; the rest is 735 values (35 columns of a conversation and its branch, in 21 ' +
  'rows) that cross to JavaScript, where the floor has 120. One JSON column for the fields that are mostly ' +
  'empty would make it 2.3, and lists of conversations with a channel, a key or tags slower.'

export const listSuite: Suite = {
  name: 'list',
  tasks: { fill, list },
  async run(bench) {
    const [few, many] = bench.scale.conversations
    const file = (name: ContenderName, count: number) => join(bench.place, `list-${name}-${count}.db`)
    const fills = names.flatMap(name => [few, many].map(count => ({ name, file: file(name, count), count })))
    for (const args of fills) await inFreshProcess({ suite: 'list', task: 'fill', args })
    const { floor, ours } = await rounds<(typeof names)[number], Lists>(
      bench.scale.rounds,
      names,
      { suite: 'list', task: 'list' },
      (name): ListArgs => ({ name, few: file(name, few), many: file(name, many) }),
    )
    const line = (key: keyof Lists, count: number): Line => ({
      work: `list 20 of ${count.toLocaleString('en')} conversations`,
      floor: time(middleOf(seriesOf(floor, key))),
      ours: time(middleOf(seriesOf(ours, key))),
      ratio: pairedRatio(seriesOf(ours, key), seriesOf(floor, key)),
      goal: 2,
      why: whyList,
    })
    return [
      line('atFew', few),
      line('atMany', many),
      {
        work: `list at ${many.toLocaleString('en')} ÷ at ${few.toLocaleString('en')}`,
        floor: pairedRatio(seriesOf(floor, 'atMany'), seriesOf(floor, 'atFew')).middle.toFixed(2),
        ours: 'see above',
        ratio: pairedRatio(seriesOf(ours, 'atMany'), seriesOf(ours, 'atFew')),
        goal: 1.2,
      },
    ]
  },
}
