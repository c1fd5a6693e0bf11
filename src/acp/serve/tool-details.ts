import type { SessionUpdate, ToolKind } from '@agentclientprotocol/sdk/unstable'
import type { Json, JsonObject } from '../../core/json.ts'

const longest = 120

/** A call in one line for people: the tool and its input. */
export function toolTitle(name: string, input: Json): string {
  const given = typeof input === 'object' && input !== null ? Object.values(input) : [input]
  const words = given.map(value => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ')
  const line = `${name} ${words}`.replace(/\s+/g, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line
}

/** Words in a tool's name and the kind that they indicate. The first match counts, and changes come before
 *  reads. */
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

/** The kind of a tool, guessed from its name. Clients use it for an icon only. */
export function toolKind(name: string): ToolKind {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z]+/)
  return kinds.find(([, says]) => words.some(word => says.test(word)))?.[0] ?? 'other'
}

/** A replayed update. A call of our own gets its title and kind again; a call of another agent keeps its
 *  own. */
export function withToolDetails(update: JsonObject): SessionUpdate {
  const { sessionUpdate, name, title, rawInput = null, kind } = update
  const isBare =
    sessionUpdate === 'tool_call' && typeof name === 'string' && title === name && kind === 'other'
  const dress = isBare ? { title: toolTitle(name, rawInput), kind: toolKind(name) } : {}
  return { ...update, ...dress } as unknown as SessionUpdate
}
