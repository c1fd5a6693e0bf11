import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { strangeEnvironment } from '../../test/support/place.ts'
import { root, run } from './command.ts'
import { passed, type Step } from './step.ts'

/** Every example runs to its end, each in an empty folder and with an empty home. */
export const examples: Step = {
  name: 'examples',
  async run(place) {
    const files = readdirSync(join(root, 'examples')).filter(name => /\.(ts|mjs)$/.test(name))
    if (files.length === 0) throw new Error('there are no examples')
    for (const file of files.sort()) {
      const cwd = join(place, file, 'cwd')
      mkdirSync(cwd, { recursive: true })
      const env = strangeEnvironment(join(place, file), process.env)
      await run(process.execPath, [join(root, 'examples', file)], { cwd, env })
    }
    return passed(files.length)
  },
}
