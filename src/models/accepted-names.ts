import { createHash } from 'node:crypto'
import type { ModelRequest } from '../core/model.ts'

/** Converts names of tools to a form that every provider accepts, and back. */
export interface ToolNames {
  toProvider(name: string): string
  fromProvider(name: string): string
}

/** Tools of MCP servers and of imported conversations have names such as `files.read` or `github/issues`,
 *  which most providers refuse. They are sent with `_` in place of the refused characters, and get their own
 *  names back. */
export function toolNames({ tools, messages }: ModelRequest): ToolNames {
  const sent = new Map<string, string>()
  const own = new Map<string, string>()
  const add = (name: string) => {
    if (sent.has(name)) return
    const safe = free(acceptedName(name), own)
    sent.set(name, safe)
    own.set(safe, name)
  }
  const offered = (tools ?? []).map(tool => tool.name)
  // Names that need no change come first, so that they keep their form.
  for (const name of [...offered.filter(isAcceptedName), ...offered]) add(name)
  for (const { content: blocks } of messages) {
    for (const block of blocks)
      if (block.type === 'tool_call' && typeof block.name === 'string') add(block.name)
  }
  return {
    toProvider: name => sent.get(name) ?? acceptedName(name),
    fromProvider: name => own.get(name) ?? name,
  }
}

function acceptedName(name: string): string {
  if (isAcceptedName(name)) return name
  const safe = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 60)
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`
}

function isAcceptedName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)
}

function free(name: string, taken: ReadonlyMap<string, string>): string {
  let one = name
  for (let n = 2; taken.has(one); n++) one = `${name}_${n}`
  return one
}

/** Ids of calls that every provider accepts: at most 40 letters, digits, `_` and `-`, and unique in a
 *  request. */
export interface CallIds {
  /** The id to send for a call: a new one if an earlier call has the same id. */
  ofCall(id: string): string
  /** The id to send for a result: the one of the newest call with this id. */
  ofResult(id: string): string
}

/** Imported conversations, and those of other providers, have ids that a provider may refuse. */
export function callIds(): CallIds {
  const sent = new Map<string, string>()
  const used = new Set<string>()
  return {
    ofCall(id) {
      let safe = acceptedId(id)
      for (let n = 2; used.has(safe); n++) safe = acceptedId(`${id}#${n}`)
      used.add(safe)
      sent.set(id, safe)
      return safe
    },
    ofResult: id => sent.get(id) ?? acceptedId(id),
  }
}

function acceptedId(id: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(id)) return id
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`
}
