import type { Paper } from '../output/output.ts'
import { UsageError } from './usage-error.ts'

type Fields = { readonly [name: string]: unknown }

/** Paper on which only some fields of each JSON value are written: `--json=id,title`. The same paper if none are named. */
export function withFields(paper: Paper, named: string | undefined): Paper {
  if (named === undefined) return paper
  const names = named
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  // Only how lines are written differs: what is asked of the paper is still asked of it.
  return Object.create(paper, {
    line: {
      value: (text = '') =>
        paper.line(JSON.stringify(picked(JSON.parse(text), names), null, paper.isTerminal ? 2 : undefined)),
    },
  }) as Paper
}

/** Fields of an object, or of each object of a list. Throws UsageError for one that is not there, with those that are. */
export function picked(value: unknown, names: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map(one => picked(one, names))
  if (typeof value !== 'object' || value === null) return value
  const fields = value as Fields
  const there = Object.keys(fields).join(', ')
  if (names.length === 0) throw new UsageError('--json= names no field', `There are ${there}`)
  const missing = names.find(name => !Object.hasOwn(fields, name))
  if (missing !== undefined) throw new UsageError(`there is no field ${missing}`, `There are ${there}`)
  return Object.fromEntries(names.map(name => [name, fields[name]]))
}
