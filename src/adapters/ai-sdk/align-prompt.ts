import { asBlock } from '../../core/block.ts'
import type { NewMessage } from '../../core/message.ts'
import {
  blocksIn,
  type Fingerprint,
  fingerprintOf,
  includesResults,
  isUnsendable,
  resultKey,
  sameFingerprint,
} from './fingerprint.ts'

/** How a prompt relates to a stored path. */
export interface Alignment {
  /** `end`: the prompt continues at the end of the path. `inside`: it differs earlier, or stops earlier.
   *  `nowhere`: they have no message in common. */
  readonly fit: 'end' | 'inside' | 'nowhere'
  /** How many messages of the path, from its beginning, are before the new ones. */
  readonly kept: number
  /** How many of these are in the prompt too. */
  readonly shared: number
  /** The messages of the prompt that are not in the path, in order. */
  readonly fresh: readonly NewMessage[]
}

/** A prompt with the fingerprints of its messages. */
export interface FingerprintedPrompt {
  readonly messages: readonly NewMessage[]
  readonly fingerprints: readonly Fingerprint[]
}

/** Computes the fingerprints of a prompt. It hashes all of it, so call it once. */
export function fingerprintPrompt(prompt: readonly NewMessage[]): FingerprintedPrompt {
  const messages = joinResults(prompt)
  return { messages, fingerprints: messages.map(fingerprintOf) }
}

/** Compares a prompt with a stored path, by position. Equal messages in a row are the same messages; the
 *  first that differs is new, with all that follow. For example, with q = question and a = answer:
 *
 *      path    q1 a1 q2 a2                  path    q1 a1 q2 a2
 *      prompt  q1 a1 q2 a2 q3               prompt  q1 a1 x2
 *      → end, kept 4, fresh q3              → inside, kept 2, fresh x2
 *
 *  A prompt that begins later than the path (a caller may keep only the newest messages) is aligned where its
 *  first message is found. `rooted` says that the path begins at its root.
 *
 *  The same text may occur several times. The alignment then begins where the prompt reaches the end of the
 *  path, at the earliest such place, because most prompts continue; if there is none, at the beginning of the
 *  path. */
export function alignPrompt(
  { messages, fingerprints }: FingerprintedPrompt,
  path: readonly Fingerprint[],
  rooted: boolean,
): Alignment {
  const start = path.findIndex(one => !isSkippedAtStart(one))
  if (start === -1)
    return alignmentOf(messages, { kept: path.length, shared: 0, fresh: 0, given: none }, path)

  const first = rooted ? compareFrom(fingerprints, path, start) : null
  const atRoot = first !== null && first.shared > 0
  if (atRoot && first.kept === path.length) return alignmentOf(messages, first, path)

  let best: Comparison | null = null
  for (let at = rooted ? start + 1 : start; at < path.length; at++) {
    if (isSkippedAtStart(path[at]!)) continue
    const compared = compareFrom(fingerprints, path, at)
    if (compared.shared === 0) continue
    // A shortened prompt never has a new answer, because answers are recorded here. So this prompt was
    // edited.
    const isEdited = atRoot && fingerprints.slice(compared.fresh).some(one => one.role === 'assistant')
    if (compared.kept === path.length && !isEdited) return alignmentOf(messages, compared, path)
    if (best === null || compared.shared >= best.shared) best = compared
  }
  const compared = atRoot ? first : best
  return compared === null
    ? {
        fit: 'nowhere',
        kept: 0,
        shared: 0,
        fresh: messages.filter((_, i) => !isUnsendable(fingerprints[i]!)),
      }
    : alignmentOf(messages, compared, path)
}

interface Comparison {
  readonly kept: number
  readonly shared: number
  /** Index of the first message of the prompt that is new, except for the results in `given`. */
  readonly fresh: number
  readonly given: ReadonlySet<string>
}

const none: ReadonlySet<string> = new Set()

/** Compares a prompt with a path from one index on. Tool results are stored as they come, one message each; a
 *  prompt has them in one message, in the order of their calls. */
function compareFrom(prompt: readonly Fingerprint[], path: readonly Fingerprint[], from: number): Comparison {
  let kept = from
  let shared = 0
  let confirmed: Comparison = { kept, shared, fresh: 0, given: none }
  for (let next = 0; next < prompt.length; next++) {
    const one = prompt[next]!
    if (isUnsendable(one)) continue
    const given = new Set<string>()
    // The end of an exchange that is known from its prompt has the same gap.
    if (path[kept]?.skipped !== one.skipped) kept += one.skipped
    if (one.results.size > 0) {
      for (let stored = path[kept]; stored?.role === 'tool_result'; stored = path[kept]) {
        if (!includesResults(stored.results, one.results) || given.size === one.results.size) break
        for (const key of stored.erased ? one.results.keys() : stored.results.keys()) given.add(key)
        kept++
        shared++
      }
      confirmed = { kept, shared, fresh: next, given }
      if (given.size < one.results.size) return confirmed
    } else {
      const stored = path[kept]
      if (stored === undefined || !sameFingerprint(stored, one)) return confirmed
      kept++
      shared++
      // An erased question equals every question, so it counts only if a later message agrees as well.
      if (stored.erased && stored.role === 'user') continue
    }
    kept = skipUnsendable(path, kept)
    confirmed = { kept, shared, fresh: next + 1, given: none }
  }
  return confirmed
}

/** Messages that are never in a prompt count as common. */
function skipUnsendable(path: readonly Fingerprint[], from: number): number {
  let at = from
  while (at < path.length && isUnsendable(path[at]!)) at++
  return at
}

/** A leading system message is stored as the prompt of the conversation, not compared. */
function isSkippedAtStart(one: Fingerprint): boolean {
  return isUnsendable(one) || one.role === 'system'
}

function alignmentOf(
  messages: readonly NewMessage[],
  compared: Comparison,
  path: readonly Fingerprint[],
): Alignment {
  const fresh: NewMessage[] = []
  for (const message of messages.slice(compared.fresh)) {
    const rest = fresh.length === 0 ? withoutResults(message, compared.given) : message
    if (!isUnsendable(fingerprintOf(rest))) fresh.push(rest)
  }
  const { kept, shared } = compared
  return { fit: kept === path.length ? 'end' : 'inside', kept, shared, fresh }
}

function withoutResults(message: NewMessage, given: ReadonlySet<string>): NewMessage {
  if (given.size === 0 || typeof message.content === 'string') return message
  return { ...message, content: message.content.filter(block => !given.has(resultKey(asBlock(block)) ?? '')) }
}

/** Joins consecutive messages of tool results, as the AI SDK sends them. */
function joinResults(messages: readonly NewMessage[]): readonly NewMessage[] {
  const joined: NewMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (last !== undefined && isResults(last) && isResults(message))
      joined[joined.length - 1] = { ...last, content: [...blocksIn(last), ...blocksIn(message)] }
    else joined.push(message)
  }
  return joined
}

function isResults({ role }: NewMessage): boolean {
  return role === 'tool_result' || role === 'tool'
}

/** Splits new messages into the history `before` the exchange and the `words` that open it: the last message
 *  of the user, with all that follow. Without a message of the user, all of them belong to an exchange that
 *  continues. */
export function splitAtQuestion(fresh: readonly NewMessage[]): {
  readonly before: readonly NewMessage[]
  readonly words: readonly NewMessage[]
  readonly asked: boolean
} {
  const question = fresh.findLastIndex(message => message.role === 'user')
  if (question === -1) return { before: [], words: fresh, asked: false }
  // Several messages of the user in a row open an exchange together.
  let first = question
  while (first > 0 && fresh[first - 1]!.role === 'user') first--
  return { before: fresh.slice(0, first), words: fresh.slice(first), asked: true }
}
