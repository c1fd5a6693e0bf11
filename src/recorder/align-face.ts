import { type Block, isKnown, type ToolCallBlock } from '../core/block.ts'
import { sha256Hex } from '../core/hash.ts'
import { isPlainObject, type Json, type JsonObject } from '../core/json.ts'
import type { NewMessage, Role } from '../core/message.ts'
import { readRole } from '../core/prepare.ts'
import { isReasoningFile } from '../models/file-block.ts'

/** What of a message counts when it is compared with another: who said it, and what, whatever form it came in. */
export interface Face {
  readonly role: Role
  /** A hash over words, media and the names of calls, in order; empty if nothing of it goes back to a model. */
  readonly said: string
  /** A hash over the reasoning. Callers often leave it out when they send an answer back. */
  readonly thought: string
  readonly calls: readonly ToolCallBlock[]
  /** For results of tools: each by the id of its call; approvals by their own. */
  readonly results: ReadonlyMap<string, ResultFace>
  /** The words were erased: it stands for whatever was there. */
  readonly erased: boolean
}

interface ResultFace {
  readonly output: string
  /** The conversation's policy has cut it, or it holds files, whose form depends on the way they went: the id of its
   *  call is all that can be compared. */
  readonly cut: boolean
}

/** The face of a message, stored or new. Provider options, the order of keys, and whether a text came as a string
 *  or in pieces make no difference. */
export function faceOf(message: Pick<NewMessage, 'role' | 'blocks'> & { readonly erased?: unknown }): Face {
  const role = readRole(message.role, 'role')
  const results = new Map<string, ResultFace>()
  const calls: ToolCallBlock[] = []
  const thoughts: string[] = []
  const said: Json[] = []
  let words = ''
  for (const block of blocksIn(message)) {
    const key = resultKey(block)
    if (role === 'tool_result' && key !== null) results.set(key, resultFace(block))
    else if (isAnswerOnly(block)) continue
    else if (!isKnown(block)) say(['other', block.type])
    else if (block.type === 'text') words += block.text
    else if (block.type === 'thinking') thoughts.push(block.text)
    else if (block.type === 'tool_call') {
      calls.push(block)
      say(['call', block.callId, block.name])
    } else if (block.type === 'tool_result') {
      // What a provider's own tool gave stands in the answer; on its way back its form depends on the caller.
      say(['result', block.callId])
    } else if (role === 'assistant') {
      // The SDK fetches what a model made and gave as an address, and sends the bytes back.
      say([block.type])
    } else say([block.type, block.data ?? null, block.url ?? null, block.name ?? null])
  }
  say()
  return {
    role,
    said: said.length === 0 ? '' : sha256Hex(JSON.stringify(said)),
    thought: thoughts.every(text => text === '') ? '' : sha256Hex(JSON.stringify(thoughts.join(''))),
    calls,
    results,
    erased: message.erased !== undefined && message.erased !== null,
  }

  function say(...more: Json[]): void {
    if (words !== '') said.push(words)
    words = ''
    said.push(...more)
  }
}

/** The blocks of a message; a plain string is one text. */
export function blocksIn({ blocks }: Pick<NewMessage, 'blocks'>): readonly Block[] {
  return typeof blocks === 'string' ? [{ type: 'text', text: blocks }] : blocks
}

/** The name of a result, or of an approval, within a message of results; null for any other block. */
export function resultKey(block: Block): string | null {
  if (block.type === 'tool_result') return `call ${block.callId}`
  return block.type === 'provider_tool-approval-response' ? `approval ${block.approvalId}` : null
}

function resultFace(block: Block): ResultFace {
  if (!isKnown(block) || block.type !== 'tool_result')
    return { output: canonical(block as JsonObject), cut: false }
  return {
    output: sha256Hex(canonical([block.output, block.isError ?? false])),
    cut: block.metadata?.kept !== undefined || block.metadata?.output === 'content',
  }
}

/** What is part of an answer, and need not come back: sources, and what only the provider can read. */
function isAnswerOnly(block: Block): boolean {
  return block.type === 'source' || block.type.startsWith('provider_') || isReasoningFile(block)
}

/** True if nothing of it would ever stand in a prompt: such a message is passed over. */
export function isSilent(face: Face): boolean {
  return face.said === '' && face.thought === '' && face.results.size === 0 && !face.erased
}

/** Whether both say the same. */
export function sameFace(a: Face, b: Face): boolean {
  if (a.role !== b.role) return false
  if (a.erased || b.erased) return true
  if (a.said !== b.said || a.results.size !== b.results.size) return false
  if (a.thought !== b.thought && a.thought !== '' && b.thought !== '') return false
  return (
    a.calls.every((call, i) => sameInput(call.input, b.calls[i]?.input ?? null)) &&
    allIn(a.results, b.results)
  )
}

/** Whether every result of `some` is among `all`. */
export function allIn(some: Face['results'], all: Face['results']): boolean {
  return [...some].every(([key, result]) => {
    const other = all.get(key)
    return other !== undefined && (result.cut || other.cut || result.output === other.output)
  })
}

/** Whether an input may have become the other on its way through a schema, which fills in defaults, drops what it
 *  does not know and makes numbers of digits. A value that both have and that differs was changed by somebody. */
function sameInput(a: Json, b: Json): boolean {
  if (isPlainObject(a) && isPlainObject(b))
    return Object.keys(a).every(key => !Object.hasOwn(b, key) || sameInput(a[key]!, b[key]!))
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((member, i) => sameInput(member as Json, b[i] as Json))
  // An input that was no JSON goes back as an empty object.
  if (typeof a === 'string' && isPlainObject(b)) return Object.keys(b).length === 0
  if (typeof b === 'string' && isPlainObject(a)) return Object.keys(a).length === 0
  return String(a) === String(b)
}

/** JSON in which the order of keys makes no difference. */
export function canonical(value: Json): string {
  return JSON.stringify(value, (_, member) =>
    isPlainObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
