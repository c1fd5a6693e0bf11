/** What a test's model tells an agent to do next. The agents of this folder read these over HTTP, one JSON
 *  text a line. */
export type Step =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'plan'; readonly steps: readonly string[] }
  | { readonly type: 'usage'; readonly used: number; readonly size: number; readonly cost?: number }
  | { readonly type: 'title'; readonly title: string }
  | ToolStep
  /** The agent's process ends at once, without a word. */
  | { readonly type: 'die' }
  | { readonly type: 'stop'; readonly reason: 'end_turn' | 'max_tokens' | 'refusal' }

export interface ToolStep {
  readonly type: 'tool'
  readonly name: string
  readonly title: string
  readonly input: Readonly<Record<string, unknown>>
  readonly output: string
  /** The person is asked first; a no makes the call fail. */
  readonly asks?: boolean
  readonly callId?: string
}

/** What a model does by itself while it answers. */
export type Pause =
  /** Stops here until `goOn()`: a test can kill anything exactly there. */
  { readonly type: 'wait' } | { readonly type: 'rest'; readonly ms: number }

/** What an agent gives to the model for a turn. */
export interface ModelCall {
  readonly agent: string
  readonly sessionId: string
  readonly messages: readonly ModelMessage[]
}

export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
}

/** How often something stands in a text. */
export function timesIn(text: string, what: string): number {
  return text.split(what).length - 1
}
