import type { CallKind } from '../../core/approval.ts'
import type { Json } from '../../core/json.ts'

const longest = 120

/** A call in one line for people: the tool and its input. */
export function callTitle(name: string, input: Json): string {
  const given = typeof input === 'object' && input !== null ? Object.values(input) : [input]
  const words = given.map(value => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ')
  const line = `${name} ${words}`.replace(/\s+/g, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line
}

/** Words in a tool's name and the kind that they indicate. The first match counts, and changes come before
 *  reads. */
const kinds: readonly (readonly [CallKind, RegExp])[] = [
  ['delete', /^(delete|remove|rm|unlink)$/],
  ['move', /^(move|rename|mv)$/],
  ['execute', /^(run|exec|execute|bash|shell|command|terminal)$/],
  ['edit', /^(edit|write|create|update|patch|apply|insert|replace|set|add)$/],
  ['fetch', /^(fetch|http|url|browse|download|web)$/],
  ['search', /^(search|find|grep|query|glob)$/],
  ['read', /^(read|get|list|ls|cat|show|view|open)$/],
  ['think', /^(think|reason)$/],
]

/** The kind of a tool's calls, guessed from its name. */
export function callKind(name: string): CallKind {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z]+/)
  return kinds.find(([, says]) => words.some(word => says.test(word)))?.[0] ?? 'other'
}
