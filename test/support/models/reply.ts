import { createHash } from 'node:crypto'

/** What the loopback server can do while it answers, in order. */
export type Part =
  /** Words; a list is sent piece by piece, one frame each. */
  | { readonly text: string | readonly string[] }
  /** Reasoning, which the server expects back unchanged, with its signature, before the calls that follow. */
  | { readonly thinking: string | readonly string[] }
  /** Reasoning that only the provider can read. Anthropic only. */
  | { readonly redacted: string }
  | { readonly call: { readonly name: string; readonly input: unknown; readonly id?: string } }
  /** Waits until the test lets it go on. */
  | { readonly gate: PromiseLike<unknown> }
  | { readonly delayMs: number }
  /** Never goes on: the client has to give up. */
  | { readonly hang: true }
  /** Ends here: the connection breaks, or (`end`) the body stops as if it were whole. */
  | { readonly cut: 'socket' | 'end' }
  /** The provider reports an error in the middle of the stream. */
  | { readonly fail: string }

export interface ReplyUsage {
  readonly input?: number
  readonly output?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
}

/** An answer, whole or broken. A bare string is an answer of these words. */
export type Reply =
  | string
  | {
      readonly parts: readonly Part[]
      readonly usage?: ReplyUsage
      readonly finish?: 'stop' | 'length' | 'filtered'
    }
  /** Refused with this status; `retryAfter` is in seconds, or a date. */
  | { readonly status: number; readonly message?: string; readonly retryAfter?: number | string }
  /** Too long, in the words of the provider. */
  | { readonly overflow: { readonly limit: number; readonly needed: number } }

/** A reply that is an answer, with all that a protocol needs to write it down. */
export interface Speech {
  readonly parts: readonly Part[]
  readonly usage: Required<ReplyUsage>
  readonly finish: 'stop' | 'length' | 'filtered' | 'tool_calls'
  readonly model: string
  /** Unique among all answers of all servers, so that ids never meet twice in one conversation. */
  readonly serial: string
}

/** What a protocol yields while it streams: a frame to send, or a part that only the server can act on. */
export type Frame =
  | string
  | Extract<Part, { gate: unknown } | { delayMs: unknown } | { hang: true } | { cut: unknown }>

export function isWait(part: Part): part is Exclude<Frame, string> {
  return 'gate' in part || 'delayMs' in part || 'hang' in part || 'cut' in part
}

export function piecesOf(text: string | readonly string[]): readonly string[] {
  return typeof text === 'string' ? [text] : text
}

export function wordsOf(text: string | readonly string[]): string {
  return piecesOf(text).join('')
}

/** What proves that this thinking was given out, and not changed since. It is computed, not remembered, so that
 *  a server started after a crash still knows it. */
export function signatureOf(thinking: string): string {
  return `sig${createHash('sha256').update(`thought by the loopback server: ${thinking}`).digest('hex').slice(0, 40)}`
}

/** How each protocol's ids of calls begin: whoever gave one out expects the thinking back that came before it. */
export type IdPrefix = 'toolu' | 'call' | 'chat' | 'gemini'

/** Ids of calls that came after thinking say so: `toolu_1a2b3c4d_0_t9f8e7d6c`. */
export function callId(prefix: IdPrefix, speech: Speech, at: number): string {
  const part = speech.parts[at]
  if (part !== undefined && 'call' in part && part.call.id !== undefined) return part.call.id
  const thought = speech.parts.slice(0, at).findLast(one => 'thinking' in one)
  const mark =
    thought !== undefined && 'thinking' in thought ? `_t${thoughtMark(wordsOf(thought.thinking))}` : ''
  return `${prefix}_${speech.serial}_${at}${mark}`
}

/** The mark that `callId` puts on calls after this thinking. */
export function thoughtMark(thinking: string): string {
  return signatureOf(thinking).slice(3, 11)
}

/** The mark in an id given out by `callId` with this prefix; null if no thinking came before that call. */
export function markOf(prefix: IdPrefix, id: string): string | null {
  const [, by, mark] = /^(\w+)_[0-9a-z]+_\d+_t([0-9a-f]{8})$/.exec(id) ?? []
  return by === prefix && mark !== undefined ? mark : null
}

export function sse(data: unknown, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
}
