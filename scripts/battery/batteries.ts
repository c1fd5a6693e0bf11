import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A test file in `test/battery`, or one whose sizes come from there: short in the gate, long if it is named.
 */
export interface Battery {
  readonly name: string
  readonly file: string
  /** The requirements that its tests name, for example R1. */
  readonly proves: readonly string[]
}

/** All batteries below `root`, by name. Throws if two have the same name. */
export function findBatteries(root: string): readonly Battery[] {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  const found = files
    .filter(file => file.endsWith('.test.ts'))
    .map(file => ({ file: join('test', file), text: readFileSync(join(root, 'test', file), 'utf8') }))
    .filter(({ file, text }) => file.startsWith(join('test', 'battery')) || takesSizes.test(text))
    .map(({ file, text }) => ({ name: basename(file, '.test.ts'), file, proves: requirementsIn(text) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const twice = found.find((one, i) => one.name === found[i + 1]?.name)
  if (twice) throw new Error(`two batteries are called ${twice.name}`)
  return found
}

const takesSizes = /^import .*\/battery\/size\.ts'$/m

function requirementsIn(text: string): readonly string[] {
  const named = [...text.matchAll(/\(((?:R\d+|[A-Z]\d+-\d+)(?:, [^)]*)?)\)['`]/g)]
  const numbers = named.flatMap(([, list]) => list!.split(', ')).filter(one => /^R\d+$/.test(one))
  return [...new Set(numbers)].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)))
}
