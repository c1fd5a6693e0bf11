import { type ContenderName, openContender } from '../contender.ts'
import { median, middleOf, pairedRatio, timeEach } from '../measure.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'
import { deep, makeWorld, middling, worldFile } from '../world.ts'

const names = ['floor', 'ours'] as const
const groups = 10

/** Microseconds. */
interface Loads {
  readonly of500: number
  readonly of5000: number
  /** With only the fields that a user reads, where a contender has such a form. */
  readonly few5000: number
}

async function* load({ name, file }: { name: ContenderName; file: string }): AsyncGenerator<Loads> {
  const contender = await openContender(name, file, 'normal')
  const load = contender.load
  const few = contender.loadFew ?? load
  const loader = async (ids: readonly string[], least: number, read = load) => {
    const heads = await Promise.all(ids.map(id => contender.head(id)))
    return async (i: number) => {
      const count = await read(ids[i % ids.length]!, heads[i % ids.length]!)
      if (count < least) throw new Error(`${name} read ${count} messages instead of ${least}`)
    }
  }
  const load500 = await loader(middling, 500)
  const load5000 = await loader(deep.slice(0, 4), 5_000)
  const loadFew = await loader(deep.slice(0, 4), 5_000, few)
  await timeEach(40, load500)
  await timeEach(4, load5000)
  await timeEach(4, loadFew)
  for (let group = 0; group < groups; group++) {
    yield {
      of500: median(await timeEach(8, load500)),
      of5000: median(await timeEach(1, load5000)),
      few5000: median(await timeEach(1, loadFew)),
    }
  }
  await contender.close()
}

export const loadSuite: Suite = {
  name: 'load',
  tasks: { load },
  async run(bench) {
    await Promise.all(names.map(name => makeWorld(bench, name)))
    const { floor, ours } = await rounds<(typeof names)[number], Loads>(
      bench.scale.rounds,
      names,
      { suite: 'load', task: 'load' },
      name => ({ name, file: worldFile(bench, name) }),
    )
    const line = (work: string, key: keyof Loads, goal = 1.2): Line => ({
      work,
      floor: time(middleOf(seriesOf(floor, key))),
      ours: time(middleOf(seriesOf(ours, key))),
      ratio: pairedRatio(seriesOf(ours, key), seriesOf(floor, key)),
      goal,
    })
    return [
      line('load 500 messages', 'of500'),
      line('load 5,000 messages', 'of5000'),
      line('load 5,000 messages ÷ id, parent, role, time and content', 'few5000', 1.3),
    ]
  },
}
