import { asBlocks, type Block, isKnown, otherOf, type ToolCallBlock } from '../../core/block.ts'
import { sha256Hex } from '../../core/hash.ts'
import { isPlainObject, type Json, type JsonObject } from '../../core/json.ts'
import type { NewMessage, Role } from '../../core/message.ts'
import { readRole } from '../../core/prepare.ts'
import { isReasoningFile } from '../../models/file-block.ts'

/** The parts of a message that count when two messages are compared: role and content, regardless of their
 *  form. */
export interface Fingerprint {
  readonly role: Role
  /** A hash over text, media and the names of calls, in order. Empty if no part of the message is sent to a
   *  model. */
  readonly said: string
  /** A hash over the reasoning. Callers often omit it when they send an answer back. */
  readonly thought: string
  readonly calls: readonly ToolCallBlock[]
  /** Tool results by the id of their call, and approvals by their own id. */
  readonly results: ReadonlyMap<string, ResultFingerprint>
  /** The content was erased, or `ModelRecorder.messages` has shortened it. The message equals every other one
   *  of its role. */
  readonly erased: boolean
  /** How many stored messages `ModelRecorder.messages` has left out before this one. */
  readonly skipped: number
}

interface ResultFingerprint {
  readonly output: string
  /** The conversation's policy has shortened the result, or it contains files, whose form depends on the
   *  caller: only the id of its call can be compared. */
  readonly cut: boolean
}

/** The fingerprint of a message, stored or new. It does not depend on provider options, the order of keys, or
 *  whether a text is a string or several blocks. */
export function fingerprintOf(
  message: Pick<NewMessage, 'role' | 'content'> & { readonly erased?: unknown },
): Fingerprint {
  const role = readRole(message.role, 'role')
  const results = new Map<string, ResultFingerprint>()
  const calls: ToolCallBlock[] = []
  const thoughts: string[] = []
  const said: Json[] = []
  let words = ''
  let [isCut, skipped] = [false, 0]
  for (const block of blocksIn(message)) {
    const mark = markOf(block)
    if (mark?.cut === true && block.type !== 'tool_result') isCut = true
    if (typeof mark?.skipped === 'number') skipped += mark.skipped
    const key = resultKey(block)
    if (role === 'tool_result' && key !== null) results.set(key, resultFingerprint(block))
    else if (isAnswerOnly(block)) continue
    else if (!isKnown(block)) say(['other', block.type])
    else if (block.type === 'text') words += block.text
    else if (block.type === 'thinking') thoughts.push(block.text)
    else if (block.type === 'tool_call') {
      calls.push(block)
      say(['call', block.callId, block.name])
    } else if (block.type === 'tool_result') {
      // The result of a provider's own tool is part of the answer. Its form in the prompt depends on the
      // caller.
      say(['result', block.callId])
    } else if (role === 'assistant') {
      // The SDK downloads a file that a model generated as a URL, and sends the bytes back.
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
    erased: isCut || (message.erased !== undefined && message.erased !== null),
    skipped,
  }

  function say(...more: Json[]): void {
    if (words !== '') said.push(words)
    words = ''
    said.push(...more)
  }
}

/** The blocks of a message; a plain string is one text. */
export function blocksIn({ content }: Pick<NewMessage, 'content'>): readonly Block[] {
  return asBlocks(content)
}

/** The key of a tool result or approval within its message; null for any other block. */
export function resultKey(block: Block): string | null {
  if (block.type === 'tool_result') return `call ${block.callId}`
  const other = otherOf(block)
  return other?.type === 'provider_tool-approval-response' ? `approval ${other.approvalId}` : null
}

function resultFingerprint(block: Block): ResultFingerprint {
  if (block.type !== 'tool_result') return { output: canonical(block as JsonObject), cut: false }
  return {
    output: sha256Hex(canonical([block.output, block.isError ?? false])),
    cut:
      block.metadata?.kept !== undefined ||
      block.metadata?.output === 'content' ||
      markOf(block)?.cut === true,
  }
}

/** The mark of `next-messages.ts`, in a block of a prompt. */
function markOf(block: Block): JsonObject | undefined {
  const { provider } = (block as { readonly metadata?: JsonObject }).metadata ?? {}
  return isPlainObject(provider) && isPlainObject(provider.skein) ? provider.skein : undefined
}

/** Blocks of an answer that callers need not send back: sources, and data that only the provider can read. */
function isAnswerOnly(block: Block): boolean {
  const type: string = block.type
  return type === 'source' || type.startsWith('provider_') || isReasoningFile(block)
}

/** True if no part of the message is ever in a prompt. The comparison skips it. */
export function isUnsendable(one: Fingerprint): boolean {
  return one.said === '' && one.thought === '' && one.results.size === 0 && !one.erased
}

/** Whether both messages have the same content. */
export function sameFingerprint(a: Fingerprint, b: Fingerprint): boolean {
  if (a.role !== b.role) return false
  if (a.erased || b.erased) return true
  if (a.said !== b.said || a.results.size !== b.results.size) return false
  if (a.thought !== b.thought && a.thought !== '' && b.thought !== '') return false
  return (
    a.calls.every((call, i) => sameInput(call.input, b.calls[i]?.input ?? null)) &&
    includesResults(a.results, b.results)
  )
}

/** Whether every result of `some` is among `all`. */
export function includesResults(some: Fingerprint['results'], all: Fingerprint['results']): boolean {
  return [...some].every(([key, result]) => {
    const other = all.get(key)
    return other !== undefined && (result.cut || other.cut || result.output === other.output)
  })
}

/** Whether one input may be the other after a schema has parsed it: defaults filled in, unknown keys dropped,
 *  digits made numbers. If both have a value and it differs, the caller has changed it. */
function sameInput(a: Json, b: Json): boolean {
  if (isPlainObject(a) && isPlainObject(b))
    return Object.keys(a).every(key => !Object.hasOwn(b, key) || sameInput(a[key]!, b[key]!))
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((member, i) => sameInput(member as Json, b[i] as Json))
  // An input that is not JSON comes back as an empty object.
  if (typeof a === 'string' && isPlainObject(b)) return Object.keys(b).length === 0
  if (typeof b === 'string' && isPlainObject(a)) return Object.keys(a).length === 0
  return String(a) === String(b)
}

/** JSON with sorted keys. */
function canonical(value: Json): string {
  return JSON.stringify(value, (_, member) =>
    isPlainObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
