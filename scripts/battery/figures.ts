import { readFileSync } from 'node:fs'
import type { Note } from '../../test/battery/note.ts'

/** The figures that the tests noted, one row of a Markdown table per test. */
export function figureRows(path: string): readonly string[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  const notes = lines.map(line => JSON.parse(line) as Note)
  const tests = Map.groupBy(notes, ({ file, test }) => `${file} ${test}`)
  return [...tests.values()].map(of => {
    const figures = new Map(of.map(({ name, value }) => [name, value]))
    const list = [...figures].map(([name, value]) => `${name} ${value}`).join(', ')
    return `| ${cell(of[0]!.test)} | ${cell(list)} |`
  })
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
