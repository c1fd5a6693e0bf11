import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { approvalOf, withUnapprovedResults } from '../../agent/approval/unapproved-calls.ts'
import { lastAnswer, openCalls, startedCalls } from '../../agent/interruption.ts'
import { isCall } from '../../context/view/pairs.ts'
import type { StoredApproval } from '../../core/approval.ts'
import type { ToolCallBlock } from '../../core/block.ts'
import type { Json } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { RecordToStore } from './approved-calls.ts'

/** A call whose request is answered, and that has not run. */
export interface AnsweredCall {
  /** Its place among the calls of the last answer. */
  readonly index: number
  /** The input as the model wrote it. */
  readonly written: Json
  readonly approval: StoredApproval
}

/** The answered calls at the end of a path; `waiting` if one of the last answer's calls has no answer yet. */
export async function answeredCalls(
  store: RecordToStore,
  path: readonly Message[],
): Promise<readonly AnsweredCall[] | 'waiting'> {
  const asked = lastAnswer(path)
  if (!asked) return []
  const open = new Set<ToolCallBlock>(openCalls(asked, path))
  if (open.size === 0) return []
  const started = await startedCalls(asked, store)
  const answered: AnsweredCall[] = []
  for (const [index, call] of asked.content.filter(isCall).entries()) {
    if (!open.has(call) || started.has(call.callId)) continue
    const approval = await approvalOf(store, asked, call)
    if (approval?.status === 'pending') return 'waiting'
    if (approval?.status === 'answered') answered.push({ index, written: call.input, approval })
  }
  return answered
}

/** The path with results for calls that were not run because they need an approval. In this view only. */
export function withoutApprovals(
  store: RecordToStore,
  path: readonly Message[],
): Promise<readonly Message[]> {
  const metadata = { skein: { synthetic: 'approval' } }
  return withUnapprovedResults(path, store, { isLeft: () => true, metadata })
}

interface AnyPart {
  readonly type: string
  readonly toolCallId?: string
  readonly input?: unknown
  readonly providerExecuted?: boolean
}

/** Adds the parts of the AI SDK to the last answer and its results: the request beside its call, and the
 *  response in place of a result. The SDK runs approved calls, and reports denied ones to the model, when
 *  such messages are sent. The id of a request is the stored one. */
export function withApprovals(
  messages: readonly LanguageModelV4Message[],
  answered: readonly AnsweredCall[],
): LanguageModelV4Message[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  if (answered.length === 0 || at === -1) return [...messages]
  const parts = messages[at]!.content as readonly AnyPart[]
  const ids = parts.flatMap(({ type, toolCallId, providerExecuted }) =>
    type === 'tool-call' && providerExecuted !== true ? [toolCallId!] : [],
  )
  const byCall = new Map(answered.map(one => [ids[one.index], one]))
  const calls = parts.map(part => {
    const one = part.type === 'tool-call' ? byCall.get(part.toolCallId) : undefined
    // The input that was approved is the one that a schema has parsed. The SDK compares it with its own.
    return one === undefined ? part : { ...part, input: one.approval.input }
  })
  const requests = [...byCall].map(
    ([
      toolCallId,
      {
        written,
        approval: { id },
      },
    ]) => {
      const facts = { approvalId: id, toolCallId, inputSchemaInput: written }
      return { type: 'tool-approval-request', ...facts }
    },
  )
  const responses = answered.map(({ approval: { id, answer, comment } }) => {
    const facts = { approvalId: id, approved: answer !== 'deny' }
    return { type: 'tool-approval-response', ...facts, ...(comment !== null && { reason: comment }) }
  })
  const after = messages.slice(at + 1).flatMap(({ content }) => content as readonly AnyPart[])
  const results = after.filter(({ toolCallId }) => !byCall.has(toolCallId))
  return [
    ...messages.slice(0, at),
    { role: 'assistant', content: [...calls, ...requests] },
    { role: 'tool', content: [...results, ...responses] },
  ] as LanguageModelV4Message[]
}
