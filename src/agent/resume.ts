import type { ToolCallBlock, ToolResultBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'
import type { MessageReader } from '../core/ports.ts'
import type { Tools } from './tool.ts'
import type { Unanswered } from './turn.ts'

/** Where a conversation stopped, and so how it goes on. */
export interface Stopped {
  /** `question`: nobody has answered yet; `results`: the model has not seen what its tools brought, or not all of
   *  them ran; `answer`: in the middle of an answer. */
  readonly at: 'question' | 'results' | 'answer'
  /** Calls that nobody has run, or that may be run again. */
  readonly unanswered: Unanswered | null
  /** Calls that were started and whose outcome nobody knows: they are not run again. */
  readonly unknown: readonly ToolCallBlock[]
}

/** Looks at the end of a path; null if the last turn came to its end. A tool that was started is not run a second time, unless it says that this does
 *  no harm: what it has done before the crash, it may have done. */
export async function whereStopped(
  path: readonly Message[],
  tools: Tools,
  reader: Pick<MessageReader, 'listEvents'> | null,
): Promise<Stopped | null> {
  const last = path.at(-1)
  if (!last) return null
  if (last.role === 'user' || last.role === 'system') return stoppedAt('question')
  const asked = path.findLast(message => message.role !== 'tool_result')
  const open = asked?.role === 'assistant' ? openCalls(asked, path) : []
  if (asked && open.length > 0) {
    const started = await startedCalls(asked, reader)
    const may = (call: ToolCallBlock) => !started.has(call.callId) || tools[call.name]?.repeatable === true
    const calls = open.filter(may)
    return {
      at: 'results',
      unanswered: calls.length > 0 ? { message: asked.id, calls } : null,
      unknown: open.filter(call => !may(call)),
    }
  }
  if (last.role === 'tool_result') return stoppedAt('results')
  return last.meta?.interrupted === true || last.meta?.failed === true ? stoppedAt('answer') : null
}

function stoppedAt(at: Stopped['at']): Stopped {
  return { at, unanswered: null, unknown: [] }
}

function openCalls(asked: Message, path: readonly Message[]): readonly ToolCallBlock[] {
  const after = path.slice(path.indexOf(asked) + 1)
  const answered = new Set(
    after.flatMap(message => message.blocks.filter(isResult).map(block => block.callId)),
  )
  return asked.blocks.filter(isCall).filter(call => !answered.has(call.callId))
}

/** Ids of calls are the provider's and may repeat in another message. */
async function startedCalls(
  asked: Message,
  reader: Pick<MessageReader, 'listEvents'> | null,
): Promise<ReadonlySet<string>> {
  const listing = { types: ['tool_started'], newest: true, limit: 1_000 } as const
  const events = reader ? await reader.listEvents(asked.conversationId, listing) : []
  return new Set(events.filter(({ data }) => data.message === asked.id).map(({ data }) => String(data.call)))
}

function isCall(block: Message['blocks'][number]): block is ToolCallBlock {
  return block.type === 'tool_call'
}

function isResult(block: Message['blocks'][number]): block is ToolResultBlock {
  return block.type === 'tool_result'
}
