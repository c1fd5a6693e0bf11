import type { Block } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'

/** What one `session/update` says, as far as we understand it. Agents differ in what they send and leave out,
 *  so that nothing is taken for granted when it is read (`hear`); what we do not understand is still passed
 *  on and is `other`. */
export type Heard =
  /** A piece of the answer: text, or something else that stands in it. */
  | { readonly type: 'answer'; readonly block: Block; readonly messageId: string | null }
  | { readonly type: 'thought'; readonly text: string; readonly messageId: string | null }
  /** A piece of what the user is said to have said: a replay, or an echo. */
  | { readonly type: 'user'; readonly block: Block; readonly messageId: string | null }
  /** A tool call, or news of one: what is absent is as it was. */
  | { readonly type: 'call'; readonly call: CallChange }
  | { readonly type: 'plan'; readonly entries: Json }
  /** What the context holds, and what the session has cost so far, in dollars. */
  | { readonly type: 'usage'; readonly used: number; readonly size: number; readonly cost: number | null }
  /** The agent's own title for the session. */
  | { readonly type: 'title'; readonly title: string | null }
  | { readonly type: 'mode'; readonly mode: string }
  | { readonly type: 'other'; readonly name: string }

export interface CallChange {
  readonly callId: string
  /** The tool's name where the agent tells it, otherwise absent. */
  readonly name?: string
  /** For people: `Read src/index.ts`. */
  readonly title?: string
  /** `read`, `edit`, `execute` … */
  readonly kind?: string
  readonly status?: 'pending' | 'in_progress' | 'completed' | 'failed'
  readonly input?: Json
  readonly output?: Json
  /** What the client shows of it: text, diffs, terminals. */
  readonly content?: readonly JsonObject[]
  readonly locations?: Json
}

/** Updates that belong to the history: what a replay consists of. Everything else is about the session as it
 *  is now. */
export function isHistoryUpdate({ type }: Heard): boolean {
  return type === 'answer' || type === 'thought' || type === 'user' || type === 'call' || type === 'plan'
}
