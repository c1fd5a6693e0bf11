/** A step that a test's model makes an agent perform. The agents of this folder read these over HTTP, as one
 *  line of JSON each. */
export type Step =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'plan'; readonly steps: readonly string[] }
  | { readonly type: 'usage'; readonly used: number; readonly size: number; readonly cost?: number }
  | { readonly type: 'title'; readonly title: string }
  | ToolStep
  | CommandStep
  | EditStep
  /** The agent's process exits at once. */
  | { readonly type: 'die' }
  | { readonly type: 'stop'; readonly reason: 'end_turn' | 'max_tokens' | 'refusal' }

export interface ToolStep {
  readonly type: 'tool'
  readonly name: string
  readonly title: string
  readonly input: Readonly<Record<string, unknown>>
  readonly output: string
  /** The person is asked first; a refusal makes the call fail. */
  readonly asks?: boolean
  readonly callId?: string
}

/** A command whose output a client shows in a terminal. */
export interface CommandStep {
  readonly type: 'command'
  readonly command: string
  /** The chunks of its output. An agent that uses the client's terminals ignores them: the client runs the
   *  command. */
  readonly output: readonly string[]
  readonly exitCode: number
  /** How the agent shows it. */
  readonly through: 'terminal_output' | 'terminal_output_delta' | 'terminal/create'
  /** Sent with the end of the call. */
  readonly rawOutput?: unknown
  readonly callId?: string
}

/** A change of a file, which the agent shows as a diff. */
export interface EditStep {
  readonly type: 'edit'
  readonly path: string
  /** Empty for a new file. */
  readonly before: string
  readonly after: string
}

/** A step of the model itself. */
export type Pause =
  /** Stops here until `proceed()`: a test can kill anything exactly there. */
  { readonly type: 'wait' } | { readonly type: 'rest'; readonly ms: number }

/** The input that an agent sends to the model for a turn. */
export interface ModelCall {
  readonly agent: string
  readonly sessionId: string
  readonly messages: readonly ModelMessage[]
}

export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
}

/** How often a text contains another. */
export function timesIn(text: string, what: string): number {
  return text.split(what).length - 1
}
