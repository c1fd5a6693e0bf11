import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { type AgentModel, resolveModel } from '../../agent/agent-model.ts'
import { continuationPrompt, interruptedAt } from '../../agent/interruption.ts'
import { fit } from '../../context/fit/fit.ts'
import { windowOf } from '../../context/fit/model-windows.ts'
import type { Window } from '../../context/fit/window.ts'
import { type ReadHistory, readHistory } from '../../context/read-context.ts'
import type { SummarizeOptions } from '../../context/summary/summarize.ts'
import { summarizeIfDue } from '../../context/summary/summarize-if-due.ts'
import { repair, viewOf } from '../../context/view/view.ts'
import type { Block, TextBlock } from '../../core/block.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Message, Role } from '../../core/message.ts'
import type { ContextMessage } from '../../core/model.ts'
import { pathOf } from '../../core/path.ts'
import { type TailBudget, withTurnStart } from '../../core/tail.ts'
import { answeredCalls, withApprovals, withoutApprovals } from './answered-calls.ts'
import type { RecordToStore } from './approved-calls.ts'
import { writeMessages } from './write-messages.ts'

/** Which stored messages `ModelRecorder.messages` returns. */
export interface MessagesOptions {
  /** Default: the branch of the newest call. */
  readonly branch?: BranchRef | null
  /** Only the newest whole turns within this budget. Reads those and no more. Default: all messages. */
  readonly budget?: TailBudget
  /** What the model can hold: a window, or the name of a known model. Older turns are represented by the
   *  newest summary, or by a note that says how many are missing; an oversized tool result is shortened. All
   *  of that is in this view only. Leave room for the question and the system prompt with
   *  `reserveOutput`. */
  readonly window?: Window | string
  /** Writes a summary of the older turns when they no longer fit into `window`. It is stored, and made only
   *  once. Default: existing summaries are used, no new one is made. */
  readonly summarizer?: AgentModel
  /** Stops the summarizer. */
  readonly signal?: AbortSignal
}

/** Where an answer was interrupted, and the messages that continue it. */
export interface InterruptedCall {
  /** `question`: there is no answer yet. `results`: the model has not seen the results of its tools, or not
   *  all of them ran. `answer`: the answer stops in the middle. */
  readonly at: 'question' | 'results' | 'answer'
  /** The messages for the next call. They end with a message of the user, or with tool results, never with a
   *  part of an answer, which many providers refuse: a note asks the model to continue. The note is not
   *  stored. Approved and denied calls have the parts of the AI SDK that say so: it runs them, or tells the
   *  model. */
  readonly messages: LanguageModelV4Message[]
}

/** The stored messages up to a head, for the next call. */
export async function nextMessages(
  store: RecordToStore,
  head: MessageId | null,
  options: MessagesOptions,
): Promise<LanguageModelV4Message[]> {
  return writeMessages(await shownMessages(store, head, options))
}

/** The same for an interrupted turn; null if the path ends with a complete answer. */
export async function interruptedCall(
  store: RecordToStore,
  head: MessageId | null,
  options: MessagesOptions,
): Promise<InterruptedCall | null> {
  const end = head === null ? [] : withTurnStart(await store.tail(head, { messages: 64 })).messages
  const at = interruptedAt(end)
  if (at === null) return null
  const answered = at === 'results' ? await answeredCalls(store, end) : []
  if (answered === 'waiting') return null
  const shown = await shownMessages(store, head, options)
  const messages = at === 'answer' ? [...shown, synthetic('user', continuationPrompt, 'continue')] : shown
  return { at, messages: withApprovals(writeMessages(messages), answered) }
}

async function shownMessages(
  store: RecordToStore,
  head: MessageId | null,
  { budget, window, summarizer, signal }: MessagesOptions,
): Promise<readonly ContextMessage[]> {
  if (head === null) return []
  if (window === undefined) {
    const read = budget ? withTurnStart(await store.tail(head, budget)).messages : await pathOf(store, head)
    return marked(repair(await withoutApprovals(store, read)), read)
  }
  const room = typeof window === 'string' ? windowOf(window) : window
  const whole = { ...room, ...(budget?.messages !== undefined && { maxLoaded: budget.messages }) }
  const history = await readHistory(store, head, whole)
  const made =
    summarizer !== undefined && history.messages.length > 0
      ? await summarizeIfDue(
          store,
          { conversationId: history.messages[0]!.conversationId, head },
          history,
          whole,
          {
            ...summarizerOf(summarizer),
            ...(signal && { signal }),
          },
        )
      : null
  return inWindow(store, made === null ? history : await readHistory(store, head, whole), whole)
}

function summarizerOf(given: AgentModel): Pick<SummarizeOptions, 'model' | 'window'> {
  const model = resolveModel(given, 'summarizer')
  return { model, window: { limit: windowOf(model.id).limit } }
}

/** The part of a history that fits. The summary and the note about missing messages become messages of the
 *  user: the AI SDK refuses system messages among `messages`. */
async function inWindow(
  store: RecordToStore,
  history: ReadHistory,
  window: Window,
): Promise<readonly ContextMessage[]> {
  const { messages, cut } = fit(await withoutApprovals(store, history.messages), window, {
    summary: history.summary,
    older: history.missing,
  })
  const shortened = new Set(cut.map(({ id }) => id))
  const shown = messages.map(message => {
    if (message.id === undefined && message.role === 'system')
      return synthetic('user', (message.content[0] as TextBlock).text, 'context')
    return message.id !== undefined && shortened.has(message.id) ? withMark(message, { cut: true }) : message
  })
  return marked(shown, history.messages)
}

/** A message that is in this view only: the recorder recognizes it in the next prompt, and does not store
 *  it. */
function synthetic(role: Role, text: string, why: string): ContextMessage {
  return { role, content: [{ type: 'text', text, metadata: { skein: { synthetic: why } } }] }
}

/** Notes how many messages are missing in the middle of a path, between two that are shown, so that the
 *  recorder does not take the gap for an edit. At the beginning, any number may be missing. */
function marked(shown: readonly ContextMessage[], path: readonly Message[]): readonly ContextMessage[] {
  const depths = new Map(path.map(({ id, depth }) => [id, depth]))
  const ends = new Map<MessageId, number>()
  for (const { message, last } of viewOf(path, { tokens: () => 0, characters: () => 0 }))
    if (message.id !== undefined) ends.set(message.id, path[last]!.depth)
  let before: number | null = null
  return shown.map(message => {
    const depth = message.id === undefined ? undefined : depths.get(message.id)
    if (depth === undefined) return message
    const skipped = before === null ? 0 : depth - before - 1
    before = Math.max(before ?? 0, ends.get(message.id!) ?? depth)
    return skipped > 0 ? withMark(message, { skipped }) : message
  })
}

function withMark(message: ContextMessage, mark: JsonObject): ContextMessage {
  const [first, ...rest] = message.content as readonly (Block & { readonly metadata?: JsonObject })[]
  if (first === undefined) return message
  const skein = { ...(first.metadata?.skein as JsonObject | undefined), ...mark }
  return { ...message, content: [{ ...first, metadata: { ...first.metadata, skein } } as Block, ...rest] }
}
