import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../check/command.ts'
import { type Row, tableOf } from './table.ts'

const begin = '<!-- real agents -->'
const end = '<!-- end of real agents -->'

/** Writes the table of a run into docs/acp.md and replaces the previous one. */
export function saveTable(rows: readonly Row[]): void {
  const file = join(root, 'docs/acp.md')
  const text = readFileSync(file, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${file} has no place for the table: ${begin} … ${end}`)
  const days = [...new Set(rows.map(({ day }) => day))].sort()
  const when = days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0]
  const run = `${begin}\n\`npm run agents\`, ${when}, Node ${process.version}\n\n${tableOf(rows)}\n`
  writeFileSync(file, text.slice(0, from) + run + text.slice(to))
}
