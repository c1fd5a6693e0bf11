import type { Block } from './block.ts'
import type { ModelError } from './errors.ts'
import type { MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'
import type { Role } from './message.ts'
import type { Usage } from './turn.ts'

/** A message of a context, the input of one model call. Never stored. */
export interface ContextMessage {
  /** One of the four stored roles. */
  readonly role: Role
  /** The blocks to send. */
  readonly content: readonly Block[]
  /** The stored message that it represents, if any. */
  readonly id?: MessageId
}

/** A tool, as described to a model. */
export interface ToolSpec {
  /** The name by which the model calls the tool. */
  readonly name: string
  /** Tells the model what the tool does and when to use it. */
  readonly description: string
  /** A JSON schema of an object. */
  readonly schema: JsonObject
}

/** Options of a model call. `ModelRequest.onIgnored` names those that a provider does not support. */
export interface ModelOptions {
  /** Most tokens of the answer. */
  readonly maxOutput?: number
  /** The randomness of the answer; 0 is the most predictable. */
  readonly temperature?: number
  /** Only the likeliest tokens, with this probability together, are considered. From 0 to 1. */
  readonly topP?: number
  /** Texts that end the answer. */
  readonly stop?: readonly string[]
  /** Calls with the same seed give similar answers. */
  readonly seed?: number
  /** Further options of the provider, by its name: `{ openai: { reasoningEffort: 'low' } }`. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>
}

/** One call of a model. */
export interface ModelRequest extends ModelOptions {
  /** The context, oldest first. A system prompt is the first message. */
  readonly messages: readonly ContextMessage[]
  /** The tools that the model may call. Default: none. */
  readonly tools?: readonly ToolSpec[]
  /** Aborts the call: the stream throws the signal's reason. */
  readonly signal?: AbortSignal
  /** Called before the pause that precedes another attempt. */
  readonly onRetry?: (retry: ModelRetry) => void
  /** Called for each option that was given and that the provider ignores or changes. */
  readonly onIgnored?: (ignored: IgnoredOption) => void
}

/** An option of a call that has no effect, or not the one that was asked for. */
export interface IgnoredOption {
  /** The id of the model. */
  readonly model: string
  /** The name of the option. */
  readonly option: Exclude<keyof ModelOptions, 'providerOptions'>
  /** The reason, in the words of the provider's client. Null if it is only that the provider lacks it. */
  readonly reason: string | null
}

/** A failed attempt of a call that will be repeated. */
export interface ModelRetry {
  /** The error of the attempt. */
  readonly error: ModelError
  /** The pause before the next attempt. */
  readonly waitMs: number
  /** How many attempts are left, including the next one. */
  readonly left: number
}

/** Why an answer ended. `length`: at the limit of its output. `filtered`: a filter of the provider held back
 *  a part of it. `refused`: the model declined to answer. */
export type Finish = 'stop' | 'tool_calls' | 'length' | 'filtered' | 'refused' | 'other'

/** A complete answer. */
export interface ModelAnswer {
  /** Text, thinking and tool calls in order. `metadata` holds what the provider needs back. */
  readonly content: readonly Block[]
  /** Why the answer ended. */
  readonly finish: Finish
  /** Tokens and cost, as far as the provider reports them. */
  readonly usage: Usage
  /** The model that answered, as the provider names it. Null if the provider does not say. */
  readonly model: string | null
}

/** The events of a stream: pieces as they arrive, then once the complete answer. */
export type ModelEvent =
  | {
      readonly type: 'text'
      /** The next piece of the answer. */
      readonly text: string
    }
  | {
      readonly type: 'thinking'
      /** The next piece of the model's reasoning. */
      readonly text: string
    }
  | {
      readonly type: 'answer'
      /** The whole answer. This event is the last one. */
      readonly answer: ModelAnswer
    }

/** A model. The stream ends with exactly one `answer`, or throws ModelError, ContextLengthError or, if the
 *  signal was aborted, the signal's reason. A model keeps no state between calls. */
export interface Model {
  /** Provider and name, as given to `openModel`: `anthropic/claude-sonnet-5-5`. */
  readonly id: string
  /** Calls the model. Nothing happens until the stream is read. */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>
}
