import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from './catalogue.ts'
import type { Row } from './table.ts'
import { ways } from './world.ts'

/** The results of the runs so far, so that one agent or one part can be tested again without the others. Rows
 *  of other package versions are dropped. */
export interface Results {
  /** Cells of other parts stay. */
  keep(row: Row): void
  /** In the order of the catalogue. */
  rows(): readonly Row[]
}

interface Kept extends Omit<Row, 'agent'> {
  readonly name: string
  readonly packages: string
}

export function openResults(dir: string): Results {
  const file = join(dir, 'results.json')
  // Read each time: another run may be writing results of other agents.
  const read = (): readonly Kept[] => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [])
  return {
    keep({ agent, ...row }) {
      const { name, packages } = agent
      const all = read()
      const isSame = (one: Kept) => one.name === name && one.way === row.way
      const earlier = all.find(one => isSame(one) && one.packages === packages.join(' '))?.cells ?? {}
      const cells = 'failed' in row.cells || 'failed' in earlier ? row.cells : { ...earlier, ...row.cells }
      const others = all.filter(one => !isSame(one))
      const kept = [...others, { ...row, cells, name, packages: packages.join(' ') }]
      writeFileSync(file, JSON.stringify(kept, null, 2))
    },
    rows() {
      const kept = read()
      return catalogue.flatMap(agent =>
        ways.flatMap(way =>
          kept
            .filter(one => one.name === agent.name && one.way === way)
            .filter(one => one.packages === agent.packages.join(' '))
            .map(({ cells, day }) => ({ agent, way, cells, day })),
        ),
      )
    },
  }
}
