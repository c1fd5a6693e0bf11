import { type ContenderName, openContender } from '../contender.ts'
import { median, pairedRatio, timeEach } from '../measure.ts'
import { type Line, rounds, type Suite, time } from '../suite.ts'
import { deep, makeWorld, short, worldFile } from '../world.ts'

const names = ['floor', 'ours'] as const

interface ForkArgs {
  readonly name: ContenderName
  readonly file: string
  readonly round: number
}

interface Forks {
  readonly at100: number
  readonly at5000: number
}

async function fork({ name, file, round }: ForkArgs): Promise<Forks> {
  const contender = await openContender(name, file, 'normal')
  const of = async (id: string) => {
    const at = await contender.head(id)
    const one = (label: string) => (i: number) => contender.fork(id, at!, `fork-${round}-${label}-${i}`)
    await timeEach(300, one('warm'))
    return median(await timeEach(300, one('timed')))
  }
  const forks = { at100: await of(short(1)[0]!), at5000: await of(deep[0]!) }
  await contender.close()
  return forks
}

export const forkSuite: Suite = {
  name: 'fork',
  tasks: { fork },
  async run(bench) {
    for (const name of names) await makeWorld(bench, name)
    const measured = await rounds<(typeof names)[number], Forks>(
      bench.scale.rounds,
      names,
      { suite: 'fork', task: 'fork' },
      (name, round): ForkArgs => ({ name, file: worldFile(bench, name), round }),
    )
    const pick = (name: 'floor' | 'ours', key: keyof Forks) => measured[name].map(forks => forks[key])
    const lines = (['at100', 'at5000'] as const).map(
      (key): Line => ({
        work: `fork at the head of ${key === 'at100' ? '100' : '5,000'} messages, NORMAL`,
        floor: time(median(pick('floor', key))),
        ours: time(median(pick('ours', key))),
        ratio: pairedRatio(pick('ours', key), pick('floor', key)),
        goal: 2,
      }),
    )
    return [
      ...lines,
      {
        work: 'fork at 5,000 ÷ at 100',
        ours: 'see above',
        ratio: pairedRatio(pick('ours', 'at5000'), pick('ours', 'at100')),
        goal: 1.2,
      },
    ]
  },
}
