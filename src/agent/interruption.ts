import { isCall, isResult } from '../context/view/pairs.ts'
import type { ToolCallBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'
import { itemsOf } from '../core/pages.ts'
import type { MessageReader } from '../core/ports.ts'
import type { UnansweredCalls } from './run-steps.ts'
import type { Tools } from './tools/tool.ts'

/** Makes a model continue an interrupted answer; also for other programs' agents, and for calls through the
 *  AI SDK. */
export const continuationPrompt = '[Your last answer was interrupted. Continue where it stops.]'

/** Where a turn was interrupted, which decides how it continues. */
export interface Interruption {
  /** `question`: there is no answer yet; `results`: the model has not seen its tools' results, or not all of
   *  them ran; `answer`: in the middle of an answer. */
  readonly at: 'question' | 'results' | 'answer'
  /** Calls that have not run, or that may run again. */
  readonly unanswered: UnansweredCalls | null
  /** Calls that had started. Their outcome is unknown, so they are not run again. */
  readonly unknown: readonly ToolCallBlock[]
}

/** Finds the interruption at the end of a path; null if the last turn is complete. A tool that had started is
 *  not run again, unless it is repeatable, because it may have done its work before the crash. */
export async function findInterruption(
  path: readonly Message[],
  tools: Tools,
  reader: Pick<MessageReader, 'listEvents'> | null,
): Promise<Interruption | null> {
  const at = interruptedAt(path)
  if (at === null) return null
  const asked = lastAnswer(path)
  const open = at === 'results' && asked ? openCalls(asked, path) : []
  if (!asked || open.length === 0) return { at, unanswered: null, unknown: [] }
  const started = await startedCalls(asked, reader)
  const may = (call: ToolCallBlock) => !started.has(call.callId) || tools[call.name]?.repeatable === true
  const calls = open.filter(may)
  return {
    at,
    unanswered: calls.length > 0 ? { message: asked.id, calls } : null,
    unknown: open.filter(call => !may(call)),
  }
}

/** Where the path ends, if it does not end with a complete answer. Null if it does, or if it is empty. */
export function interruptedAt(path: readonly Message[]): Interruption['at'] | null {
  const last = path.at(-1)
  if (!last) return null
  if (last.role === 'user' || last.role === 'system') return 'question'
  const asked = lastAnswer(path)
  if (last.role === 'tool_result' || (asked && openCalls(asked, path).length > 0)) return 'results'
  return last.metadata?.interrupted === true || last.metadata?.failed === true ? 'answer' : null
}

/** The answer that the path ends with, perhaps followed by results of its calls. */
export function lastAnswer(path: readonly Message[]): Message | undefined {
  const last = path.findLast(message => message.role !== 'tool_result')
  return last?.role === 'assistant' ? last : undefined
}

/** The calls of an answer without a result on the path. */
export function openCalls(asked: Message, path: readonly Message[]): readonly ToolCallBlock[] {
  const after = path.slice(path.indexOf(asked) + 1)
  const answered = new Set(
    after.flatMap(message => message.content.filter(isResult).map(block => block.callId)),
  )
  return asked.content.filter(isCall).filter(call => !answered.has(call.callId))
}

/** The calls of an answer whose start is stored. Ids of calls come from the provider and may recur in other
 *  messages. */
export async function startedCalls(
  asked: Message,
  reader: Pick<MessageReader, 'listEvents'> | null,
): Promise<ReadonlySet<string>> {
  const started = new Set<string>()
  if (!reader) return started
  const events = itemsOf(page =>
    reader.listEvents(asked.conversationId, { types: ['tool_started'], order: 'descending', ...page }),
  )
  const calls = asked.content.filter(isCall).length
  for await (const { data } of events) {
    if (data.message === asked.id) started.add(String(data.call))
    if (started.size === calls) break
  }
  return started
}
