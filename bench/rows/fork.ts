import { type ContenderName, openContender } from '../contender.ts'
import { median, middleOf, pairedRatio, timeEach } from '../measure.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'
import { deep, makeWorld, short, worldFile } from '../world.ts'

const names = ['floor', 'ours'] as const
const groups = 6

interface ForkArgs {
  readonly name: ContenderName
  readonly file: string
  readonly round: number
}

/** Microseconds. */
interface Forks {
  readonly at100: number
  readonly at5000: number
}

async function* fork({ name, file, round }: ForkArgs): AsyncGenerator<Forks> {
  const contender = await openContender(name, file, 'normal')
  let forks = 0
  const forker = async (id: string) => {
    const at = (await contender.head(id))!
    return () => contender.fork(id, at, `fork-${round}-${forks++}`)
  }
  const fork100 = await forker(short(1)[0]!)
  const fork5000 = await forker(deep[0]!)
  await timeEach(500, fork100)
  for (let group = 0; group < groups; group++) {
    yield { at100: median(await timeEach(150, fork100)), at5000: median(await timeEach(150, fork5000)) }
  }
  await contender.close()
}

const whyFork =
  'a fork also raises the version of the conversation, which followers and caches read, in the same commit: a ' +
  'second statement and a second page, where the floor has one statement without a transaction around it.'

export const forkSuite: Suite = {
  name: 'fork',
  tasks: { fork },
  async run(bench) {
    await Promise.all(names.map(name => makeWorld(bench, name)))
    const { floor, ours } = await rounds<(typeof names)[number], Forks>(
      bench.scale.rounds,
      names,
      { suite: 'fork', task: 'fork' },
      (name, round): ForkArgs => ({ name, file: worldFile(bench, name), round }),
    )
    const line = (key: keyof Forks, length: string): Line => ({
      work: `fork at the head of ${length} messages, NORMAL`,
      floor: time(middleOf(seriesOf(floor, key))),
      ours: time(middleOf(seriesOf(ours, key))),
      ratio: pairedRatio(seriesOf(ours, key), seriesOf(floor, key)),
      goal: 2,
      why: whyFork,
    })
    return [
      line('at100', '100'),
      line('at5000', '5,000'),
      {
        work: 'fork at 5,000 ÷ at 100',
        floor: pairedRatio(seriesOf(floor, 'at5000'), seriesOf(floor, 'at100')).middle.toFixed(2),
        ours: 'see above',
        ratio: pairedRatio(seriesOf(ours, 'at5000'), seriesOf(ours, 'at100')),
        goal: 1.2,
      },
    ]
  },
}
