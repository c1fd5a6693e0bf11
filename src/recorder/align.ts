import type { NewMessage } from '../core/message.ts'
import { allIn, blocksIn, type Face, faceOf, isSilent, resultKey, sameFace } from './align-face.ts'

/** How a prompt lies on a path. */
export interface Aligned {
  /** `end`: it goes on where the path ends. `inside`: it leaves the path earlier, or stops earlier. `nowhere`: they
   *  share nothing. */
  readonly fit: 'end' | 'inside' | 'nowhere'
  /** Messages of the path, from its beginning, that stand before what is new. */
  readonly kept: number
  /** How many of them the prompt has too. */
  readonly shared: number
  /** What the prompt has and the path has not, in order. */
  readonly fresh: readonly NewMessage[]
}

/** A prompt that is ready to be laid on paths. */
export interface Prompted {
  readonly messages: readonly NewMessage[]
  readonly faces: readonly Face[]
}

/** Makes a prompt ready. This reads all of it, so it is done once. */
export function prompted(prompt: readonly NewMessage[]): Prompted {
  const messages = joinResults(prompt)
  return { messages, faces: messages.map(faceOf) }
}

/** Lays a prompt on a stored path, by position: the messages that both have, one after the other, are the same ones,
 *  and the first that differs begins something new. A prompt that begins later than the path (a caller keeps only the
 *  newest messages) is laid where its beginning is found. `rooted` says that the path begins at its root.
 *
 *  The same words may stand in several places. Then the place from which the prompt reaches the end of the path is
 *  taken, the longest such one, because most prompts go on; only where none does, the beginning of the path. */
export function align({ messages, faces }: Prompted, path: readonly Face[], rooted: boolean): Aligned {
  const start = path.findIndex(face => !isPassedOver(face))
  if (start === -1) return alignedAt(messages, { kept: path.length, shared: 0, fresh: 0, given: none }, path)

  const first = rooted ? layOn(faces, path, start) : null
  const atRoot = first !== null && first.shared > 0
  if (atRoot && first.kept === path.length) return alignedAt(messages, first, path)

  let best: Laid | null = null
  for (let at = rooted ? start + 1 : start; at < path.length; at++) {
    if (isPassedOver(path[at]!)) continue
    const laid = layOn(faces, path, at)
    if (laid.shared === 0) continue
    // What is new in a window is never an answer: those come from here. So it is an edited prompt, not a window.
    const isEdit = atRoot && faces.slice(laid.fresh).some(face => face.role === 'assistant')
    if (laid.kept === path.length && !isEdit) return alignedAt(messages, laid, path)
    if (best === null || laid.shared >= best.shared) best = laid
  }
  const laid = atRoot ? first : best
  return laid === null
    ? { fit: 'nowhere', kept: 0, shared: 0, fresh: messages.filter((_, i) => !isSilent(faces[i]!)) }
    : alignedAt(messages, laid, path)
}

interface Laid {
  readonly kept: number
  readonly shared: number
  /** The first message of the prompt that is new, wholly or but for the results `given`. */
  readonly fresh: number
  readonly given: ReadonlySet<string>
}

const none: ReadonlySet<string> = new Set()

/** Compares a prompt with a path from one place on. Results of tools are stored as they come, one message each; in a
 *  prompt they stand in one message, in the order of their calls. */
function layOn(prompt: readonly Face[], path: readonly Face[], from: number): Laid {
  let kept = from
  let shared = 0
  let firm: Laid = { kept, shared, fresh: 0, given: none }
  for (let next = 0; next < prompt.length; next++) {
    const face = prompt[next]!
    if (isSilent(face)) continue
    const given = new Set<string>()
    if (face.results.size > 0) {
      for (let stored = path[kept]; stored?.role === 'tool_result'; stored = path[kept]) {
        if (!allIn(stored.results, face.results) || given.size === face.results.size) break
        for (const key of stored.erased ? face.results.keys() : stored.results.keys()) given.add(key)
        kept++
        shared++
      }
      firm = { kept, shared, fresh: next, given }
      if (given.size < face.results.size) return firm
    } else {
      const stored = path[kept]
      if (stored === undefined || !sameFace(stored, face)) return firm
      kept++
      shared++
      // An erased question stands for any, but only if something behind it agrees: new words must not be taken for it.
      if (stored.erased && stored.role === 'user') continue
    }
    kept = passOver(path, kept)
    firm = { kept, shared, fresh: next + 1, given: none }
  }
  return firm
}

/** A silent message stands in no prompt, and a leading system message is the prompt record's matter. */
function passOver(path: readonly Face[], from: number): number {
  let at = from
  while (at < path.length && isSilent(path[at]!)) at++
  return at
}

function isPassedOver(face: Face): boolean {
  return isSilent(face) || face.role === 'system'
}

function alignedAt(messages: readonly NewMessage[], laid: Laid, path: readonly Face[]): Aligned {
  const fresh: NewMessage[] = []
  for (const message of messages.slice(laid.fresh)) {
    const rest = fresh.length === 0 ? withoutResults(message, laid.given) : message
    if (!isSilent(faceOf(rest))) fresh.push(rest)
  }
  return { fit: laid.kept === path.length ? 'end' : 'inside', kept: laid.kept, shared: laid.shared, fresh }
}

function withoutResults(message: NewMessage, given: ReadonlySet<string>): NewMessage {
  if (given.size === 0 || typeof message.blocks === 'string') return message
  return { ...message, blocks: message.blocks.filter(block => !given.has(resultKey(block) ?? '')) }
}

/** Messages of results that follow each other become one, as the AI SDK sends them. */
function joinResults(messages: readonly NewMessage[]): readonly NewMessage[] {
  const joined: NewMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (last !== undefined && isResults(last) && isResults(message))
      joined[joined.length - 1] = { ...last, blocks: [...blocksIn(last), ...blocksIn(message)] }
    else joined.push(message)
  }
  return joined
}

function isResults({ role }: NewMessage): boolean {
  return role === 'tool_result' || role === 'tool'
}

/** What of new messages was said before the exchange that they end with, and what opens it: the last message of the
 *  user, with all that follows. Where there is none, everything belongs to an exchange that goes on. */
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
