import type { Frame, Speech } from './reply.ts'

export type ProtocolName = 'openai' | 'openai-chat' | 'anthropic' | 'google'

/** A message of a request, the same for every protocol, for assertions. */
export interface SeenMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly text: string
  readonly thinking: readonly string[]
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[]
  readonly results: readonly { readonly id: string; readonly output: string; readonly isError?: boolean }[]
  readonly media: readonly string[]
}

/** The question of a request. */
export interface Asked {
  readonly model: string
  readonly stream: boolean
  readonly messages: readonly SeenMessage[]
  readonly tools: readonly string[]
}

/** A provider's refusal: its status, and its own body. */
export interface Refusal {
  readonly status: number
  readonly body: unknown
}

/** One provider's HTTP protocol. Pure: the server does the I/O. */
export interface Protocol {
  readonly name: ProtocolName
  matches(path: string): boolean
  /** The key of the request, where this provider expects it. */
  keyOf(headers: Readonly<Record<string, string | undefined>>): string | undefined
  read(path: string, body: unknown): Asked
  /** Why the provider would refuse this request, by its published rules; null if it would not. */
  refuse(body: unknown, headers: Readonly<Record<string, string | undefined>>): string | null
  /** An error body for a status, as this provider writes it. */
  failure(status: number, message: string): unknown
  overflow(limit: number, needed: number): Refusal
  stream(speech: Speech): Iterable<Frame>
  whole(speech: Speech): unknown
}

export const noMessage: Omit<SeenMessage, 'role'> = {
  text: '',
  thinking: [],
  calls: [],
  results: [],
  media: [],
}
