import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findBatteries } from '../scripts/battery/batteries.ts'
import { figureRows } from '../scripts/battery/figures.ts'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/reliability.md'), 'utf8')
const batteries = findBatteries(root)

describe('docs/reliability.md', () => {
  it('names every battery, and only existing ones', () => {
    const named = [...page.matchAll(/`npm run battery -- ([a-z- ]+)`/g)].flatMap(([, names]) =>
      names!.split(' '),
    )
    expect([...new Set(named)].sort()).toEqual(batteries.map(({ name }) => name))
  })

  it('has a row with the battery for every requirement that a battery proves', () => {
    const lacking = batteries.flatMap(({ name, proves }) =>
      proves
        .filter(number => number !== 'R27')
        .filter(number => !new RegExp(`^\\| ${number} \\|.*\\b${name}\\b`, 'm').test(page))
        .map(number => `${number}: ${name}`),
    )
    expect(lacking).toEqual([])
  })

  it('backs every promise by existing rows', () => {
    const promises = [...page.matchAll(/^- \*\*P\d\*\*[\s\S]*?Held by ([R\d, ]+)\./gm)]
    expect(promises).toHaveLength(5)
    for (const number of promises.flatMap(([, list]) => list!.split(', '))) {
      expect(page).toContain(`\n| ${number} | `)
    }
  })
})

describe('the figures of a battery', () => {
  it('are one row per test, with the last value of each', () => {
    const folder = mkdtempSync(join(tmpdir(), 'figures-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const note = (test: string, name: string, value: string) =>
      `${JSON.stringify({ file: 'a.test.ts', test, name, value })}\n`
    const notes = [note('one', 'lost', '1'), note('two', 'p|99', '5'), note('one', 'lost', '0')]
    writeFileSync(join(folder, 'notes'), [...notes, note('one', 'kills', '3')].join(''))
    expect(figureRows(join(folder, 'notes'))).toEqual(['| one | lost 0, kills 3 |', '| two | p\\|99 5 |'])
  })
})
