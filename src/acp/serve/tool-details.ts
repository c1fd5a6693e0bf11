import type { SessionUpdate, ToolKind } from '@agentclientprotocol/sdk/unstable'
import type { Json, JsonObject } from '../../core/json.ts'

const longest = 120

/** A call in one line for people: the tool, and what it is called with. */
export function toolTitle(name: string, input: Json): string {
  const given = typeof input === 'object' && input !== null ? Object.values(input) : [input]
  const words = given.map(value => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ')
  const line = `${name} ${words}`.replace(/\s+/g, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line
}

/** What words of a name say about what a tool does. The first that fits counts: what changes something goes
 *  before what only reads. */
const kinds: readonly (readonly [ToolKind, RegExp])[] = [
  ['delete', /^(delete|remove|rm|unlink)$/],
  ['move', /^(move|rename|mv)$/],
  ['execute', /^(run|exec|execute|bash|shell|command|terminal)$/],
  ['edit', /^(edit|write|create|update|patch|apply|insert|replace|set|add)$/],
  ['fetch', /^(fetch|http|url|browse|download|web)$/],
  ['search', /^(search|find|grep|query|glob)$/],
  ['read', /^(read|get|list|ls|cat|show|view|open)$/],
  ['think', /^(think|reason)$/],
]

/** The kind of a tool, which decides about the sign beside it and nothing else: all we have is its name. */
export function toolKind(name: string): ToolKind {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z]+/)
  return kinds.find(([, says]) => words.some(word => says.test(word)))?.[0] ?? 'other'
}

/** A replayed update: a call of our own looks as it did when it was run, and one of another agent as that
 *  agent had it. */
export function withToolDetails(update: JsonObject): SessionUpdate {
  const { sessionUpdate, name, title, rawInput = null, kind } = update
  const isBare =
    sessionUpdate === 'tool_call' && typeof name === 'string' && title === name && kind === 'other'
  const dress = isBare ? { title: toolTitle(name, rawInput), kind: toolKind(name) } : {}
  return { ...update, ...dress } as unknown as SessionUpdate
}
