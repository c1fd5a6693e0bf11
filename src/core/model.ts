import type { Block } from './block.ts'
import type { MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'
import type { Role } from './message.ts'
import type { Usage } from './turn.ts'

/** One message of a context: what a model is given. Made for one call, never stored. */
export interface ContextMessage {
  readonly role: Role
  readonly blocks: readonly Block[]
  /** The stored message it shows, if it shows one. */
  readonly id?: MessageId
}

/** A tool as a model sees it. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** A JSON schema of an object. */
  readonly schema: JsonObject
}

export interface ModelRequest {
  readonly messages: readonly ContextMessage[]
  readonly tools?: readonly ToolSpec[]
  /** Tokens the answer may have. */
  readonly maxOutput?: number
  readonly signal?: AbortSignal
}

/** Why an answer ended where it did. */
export type Finish = 'stop' | 'tool_calls' | 'length' | 'filtered' | 'other'

/** A whole answer. */
export interface ModelAnswer {
  /** Text, thinking and tool calls in the order they came, with what the provider wants back in `metadata`. */
  readonly blocks: readonly Block[]
  readonly finish: Finish
  readonly usage: Usage
  /** The model that answered, as the provider names it; null if it does not say. */
  readonly model: string | null
}

/** What arrives from a model: pieces as they come, and once, at the end, the whole answer. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'answer'; readonly answer: ModelAnswer }

/** Something that answers. The stream ends with exactly one `answer`, or throws ModelError, ContextLengthError
 *  or, when its signal was aborted, the signal's reason. It keeps no state between calls. */
export interface Model {
  /** Provider and name, as given to `openModel`: `anthropic/claude-sonnet-5-5`. */
  readonly id: string
  stream(request: ModelRequest): AsyncIterable<ModelEvent>
}
