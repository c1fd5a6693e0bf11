import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../check/command.ts'

const begin = '<!-- real agents -->'
const end = '<!-- end of real agents -->'

/** Puts the table of a run into docs/acp.md, in place of the run before. */
export function saveTable(command: string, table: string): void {
  const file = join(root, 'docs/acp.md')
  const text = readFileSync(file, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${file} has no place for the table: ${begin} … ${end}`)
  const day = new Date().toISOString().slice(0, 10)
  const run = `${begin}\n\`${command}\`, ${day}, Node ${process.version}\n\n${table}\n`
  writeFileSync(file, text.slice(0, from) + run + text.slice(to))
}
