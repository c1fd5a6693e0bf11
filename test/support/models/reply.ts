import { createHash } from 'node:crypto'

/** The steps of an answer of the loopback server, in order. */
export type Part =
  /** Text; a list is sent piece by piece, one frame each. */
  | { readonly text: string | readonly string[] }
  /** Reasoning. The server expects it back unchanged, with its signature, before the calls that follow. */
  | { readonly thinking: string | readonly string[] }
  /** Reasoning that only the provider can read. Anthropic only. */
  | { readonly redacted: string }
  | {
      readonly call: {
        readonly name: string
        readonly input: unknown
        readonly id?: string
        /** The group of tools that has this one. OpenAI's Responses only. */
        readonly namespace?: string
      }
    }
  /** Waits until the test releases it. */
  | { readonly gate: PromiseLike<unknown> }
  | { readonly delayMs: number }
  /** Hangs: the client must give up. */
  | { readonly hang: true }
  /** Ends here: the connection breaks, or (`end`) the body stops as if it were complete. */
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

/** An answer, complete or broken. A plain string is an answer with this text. */
export type Reply =
  | string
  | {
      readonly parts: readonly Part[]
      readonly usage?: ReplyUsage
      /** `refused`: the model declines; with Anthropic and Google, the same as `filtered`. */
      readonly finish?: 'stop' | 'length' | 'filtered' | 'refused'
    }
  /** Refused with this status; `retryAfter` is in seconds, or a date. */
  | { readonly status: number; readonly message?: string; readonly retryAfter?: number | string }
  /** Too long, in the provider's own words. */
  | { readonly overflow: { readonly limit: number; readonly needed: number } }

/** A reply that is an answer, with all data that a protocol needs to write it. */
export interface Speech {
  readonly parts: readonly Part[]
  readonly usage: Required<ReplyUsage>
  readonly finish: 'stop' | 'length' | 'filtered' | 'refused' | 'tool_calls'
  readonly model: string
  /** Unique among all answers of all servers, so that ids never collide in one conversation. */
  readonly serial: string
}

/** The output of a protocol while it streams: a frame to send, or a part that only the server can handle. */
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

/** Proves that a server issued this thinking and that it was not changed since. It is computed, not stored,
 *  so a server that starts after a crash still knows it. */
export function signatureOf(thinking: string): string {
  return `sig${createHash('sha256').update(`thought by the loopback server: ${thinking}`).digest('hex').slice(0, 40)}`
}

/** The prefix of each protocol's call ids: the protocol that issued an id expects the preceding thinking
 *  back. */
export type IdPrefix = 'toolu' | 'call' | 'chat' | 'gemini'

/** Ids of calls after thinking are marked: `toolu_1a2b3c4d_0_t9f8e7d6c`. */
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

/** The mark in an id issued by `callId` with this prefix; null if no thinking preceded that call. */
export function markOf(prefix: IdPrefix, id: string): string | null {
  const [, by, mark] = /^(\w+)_[0-9a-z]+_\d+_t([0-9a-f]{8})$/.exec(id) ?? []
  return by === prefix && mark !== undefined ? mark : null
}

export function sse(data: unknown, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
}
