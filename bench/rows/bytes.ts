import type { Suite } from '../suite.ts'
import { makeWorld } from '../world.ts'

export const bytesSuite: Suite = {
  name: 'bytes',
  tasks: {},
  async run(bench) {
    const floor = await makeWorld(bench, 'floor')
    const ours = await makeWorld(bench, 'ours')
    const [theirs, own] = [floor.bytes / floor.messages, ours.bytes / ours.messages]
    return [
      {
        work: 'bytes a message, without search index',
        floor: theirs.toFixed(0),
        ours: own.toFixed(0),
        ratio: own / theirs,
        goal: 1.1,
      },
    ]
  },
}
