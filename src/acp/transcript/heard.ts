import type { Block } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { TerminalChange } from './terminal.ts'

/** One `session/update`, as far as we understand it. Agents differ in what they send, so `hear` takes nothing
 *  for granted. An update that we do not understand is `other`, and is relayed as well. */
export type Heard =
  /** A chunk of the answer: text, or another content block. */
  | { readonly type: 'answer'; readonly block: Block; readonly messageId: string | null }
  | { readonly type: 'thought'; readonly text: string; readonly messageId: string | null }
  /** A chunk of user text: from a replay, or an echo. */
  | { readonly type: 'user'; readonly block: Block; readonly messageId: string | null }
  /** A tool call, or a change of one. Absent fields are unchanged. */
  | { readonly type: 'call'; readonly call: CallChange }
  /** News of a terminal of the client, which a call shows. */
  | { readonly type: 'terminal'; readonly change: TerminalChange }
  | { readonly type: 'plan'; readonly entries: Json }
  /** The size of the context, and the cost of the session so far, in dollars. */
  | { readonly type: 'usage'; readonly used: number; readonly size: number; readonly cost: number | null }
  /** The agent's title for the session. */
  | { readonly type: 'title'; readonly title: string | null }
  | { readonly type: 'mode'; readonly mode: string }
  /** The agent's slash commands, by their names without the slash. */
  | { readonly type: 'commands'; readonly names: readonly string[] }
  /** News of the agent about itself: a notice, a compaction, a subagent, a message of another session. */
  | { readonly type: 'aside'; readonly name: string; readonly update: JsonObject }
  | { readonly type: 'other'; readonly name: string }

export interface CallChange {
  readonly callId: string
  /** The tool's name; absent if the agent does not send it. */
  readonly name?: string
  /** For people: `Read src/index.ts`. */
  readonly title?: string
  /** `read`, `edit`, `execute` … */
  readonly kind?: string
  readonly status?: 'pending' | 'in_progress' | 'completed' | 'failed'
  readonly input?: Json
  readonly output?: Json
  /** Content that the client shows: text, diffs, terminals. */
  readonly content?: readonly JsonObject[]
  readonly locations?: Json
  /** `_meta`, without terminals and without members that are too large to be kept. */
  readonly meta?: JsonObject
  /** Terminals in `_meta`. */
  readonly terminals?: readonly TerminalChange[]
}

/** Whether an update belongs to the history, so that a replay may contain it. All other updates describe the
 *  current state of the session. */
export function isHistoryUpdate({ type }: Heard): boolean {
  return historyTypes.has(type)
}

const historyTypes: ReadonlySet<Heard['type']> = new Set([
  'answer',
  'thought',
  'user',
  'call',
  'terminal',
  'plan',
])
