import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const begin = '<!-- last run -->'
const end = '<!-- end of last run -->'

/** Writes the output of a run into the README and replaces the previous run. */
export function saveRun(command: string, printed: string): void {
  const file = join(import.meta.dirname, 'README.md')
  const text = readFileSync(file, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${file} has no place for a table: ${begin} … ${end}`)
  const run = `${begin}\n\`${command}\`\n\n${printed}\n`
  writeFileSync(file, text.slice(0, from) + run + text.slice(to))
}
