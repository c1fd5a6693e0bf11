import { type ContenderName, openContender } from '../contender.ts'
import { median, pairedRatio, timeEach } from '../measure.ts'
import { rounds, type Suite, time } from '../suite.ts'
import { deep, makeWorld, middling, worldFile } from '../world.ts'

const names = ['floor', 'ours'] as const

interface Loads {
  readonly of500: number
  readonly of5000: number
}

async function load({ name, file }: { name: ContenderName; file: string }): Promise<Loads> {
  const contender = await openContender(name, file, 'normal')
  const of = async (ids: readonly string[], warmUp: number, count: number, least: number) => {
    const heads = await Promise.all(ids.map(id => contender.head(id)))
    const one = async (i: number) => {
      const read = await contender.load(ids[i % ids.length]!, heads[i % ids.length]!)
      if (read < least) throw new Error(`${name} read ${read} messages instead of ${least}`)
    }
    await timeEach(warmUp, one)
    return median(await timeEach(count, one))
  }
  const of500 = await of(middling, 40, 60, 500)
  const of5000 = await of(deep.slice(0, 4), 4, 12, 5_000)
  await contender.close()
  return { of500, of5000 }
}

export const loadSuite: Suite = {
  name: 'load',
  tasks: { load },
  async run(bench) {
    for (const name of names) await makeWorld(bench, name)
    const measured = await rounds<(typeof names)[number], Loads>(
      bench.scale.rounds,
      names,
      { suite: 'load', task: 'load' },
      name => ({ name, file: worldFile(bench, name) }),
    )
    return (['of500', 'of5000'] as const).map(key => {
      const [floor, ours] = names.map(name => measured[name].map(loads => loads[key])) as [number[], number[]]
      return {
        work: key === 'of500' ? 'load 500 messages' : 'load 5,000 messages',
        floor: time(median(floor)),
        ours: time(median(ours)),
        ratio: pairedRatio(ours, floor),
        goal: 1.2,
      }
    })
  },
}
