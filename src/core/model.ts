import type { Block } from './block.ts'
import type { MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'
import type { Role } from './message.ts'
import type { Usage } from './turn.ts'

/** A message of a context, the input of one model call. Never stored. */
export interface ContextMessage {
  readonly role: Role
  readonly content: readonly Block[]
  /** The stored message that it represents, if any. */
  readonly id?: MessageId
}

/** A tool, as described to a model. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** A JSON schema of an object. */
  readonly schema: JsonObject
}

export interface ModelRequest {
  readonly messages: readonly ContextMessage[]
  readonly tools?: readonly ToolSpec[]
  /** Most tokens of the answer. */
  readonly maxOutput?: number
  readonly signal?: AbortSignal
}

/** Why an answer ended. `length`: at the limit of its output. `filtered`: a filter of the provider held back
 *  a part of it. `refused`: the model declined to answer. */
export type Finish = 'stop' | 'tool_calls' | 'length' | 'filtered' | 'refused' | 'other'

/** A complete answer. */
export interface ModelAnswer {
  /** Text, thinking and tool calls in order. `metadata` holds what the provider needs back. */
  readonly content: readonly Block[]
  readonly finish: Finish
  readonly usage: Usage
  /** The model that answered, as the provider names it. Null if the provider does not say. */
  readonly model: string | null
}

/** The events of a stream: pieces as they arrive, then once the complete answer. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'answer'; readonly answer: ModelAnswer }

/** A model. The stream ends with exactly one `answer`, or throws ModelError, ContextLengthError or, if the
 *  signal was aborted, the signal's reason. A model keeps no state between calls. */
export interface Model {
  /** Provider and name, as given to `openModel`: `anthropic/claude-sonnet-5-5`. */
  readonly id: string
  stream(request: ModelRequest): AsyncIterable<ModelEvent>
}
