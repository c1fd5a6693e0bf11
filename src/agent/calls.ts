import type { ToolCallBlock } from '../core/block.ts'
import type { NewEvent } from '../core/event.ts'
import type { MessageId } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import type { NewMessage, NonEmpty } from '../core/message.ts'
import { addUsage, type Usage } from '../core/turn.ts'
import { unlessAborted } from '../core/wait.ts'
import type { TurnRecording } from '../recorder/recording.ts'
import type { AgentEvent } from './events.ts'
import type { AgentTool, ToolContext, ToolOutcome, Tools } from './tool.ts'

/** What the calls of one answer are run with. */
export interface CallBench {
  readonly tools: Tools
  readonly recording: TurnRecording
  /** The message that holds the calls, if it is stored. */
  readonly message: MessageId | null
  readonly signal: AbortSignal
  /** What a tool may know beyond its own call. */
  readonly context: Pick<ToolContext, 'conversationId' | 'messages'>
  emit(event: AgentEvent): void
  /** A result with its tokens, if they are counted. */
  counted(result: NewMessage): NewMessage
  /** Told of every result, in the order in which they were stored. */
  onResult(result: NewMessage, id: MessageId | null): void
}

/** Runs the calls of an answer side by side, and keeps each result as it comes. That a tool starts is on the
 *  disk before it does: after a crash nobody runs it a second time. Returns what models charged meanwhile.
 *  Throws the signal's reason; what had ended by then is kept. */
export async function runCalls(calls: readonly ToolCallBlock[], bench: CallBench): Promise<Usage> {
  const { tools, recording, signal, emit } = bench
  const checked = await Promise.all(
    calls.map(async call => ({ call, problem: await refusalOf(call, tools) })),
  )
  const runnable = checked.filter(({ problem }) => problem === null).map(({ call }) => call)
  for (const { call, problem } of checked) {
    if (problem !== null) await keep(call, { output: problem, isError: true }, bench)
  }
  if (runnable.length === 0) return {}
  await recording.trace(runnable.map(call => startOf(call, bench)) as unknown as NonEmpty<NewEvent>)
  signal.throwIfAborted()
  let usage: Usage = {}
  await Promise.allSettled(
    runnable.map(async call => {
      emit({ type: 'tool_started', callId: call.callId, name: call.name, input: call.input })
      // A tool may not listen to the signal; its outcome is then unknown.
      const outcome = await unlessAborted(outcomeOf(tools[call.name]!, call, bench), signal)
      usage = addUsage(usage, outcome.usage ?? {})
      await keep(call, outcome, bench)
      await recording.trace([endOf(call, outcome, bench)])
    }),
  ).then(rethrowFirst)
  return usage
}

/** Why a call cannot be run, in words for the model. */
async function refusalOf(call: ToolCallBlock, tools: Tools): Promise<string | null> {
  const found = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined
  if (!found)
    return `there is no tool ${JSON.stringify(call.name)}; there are: ${Object.keys(tools).join(', ')}`
  const problem = await found.check(call.input)
  return problem === null ? null : `the input does not fit the tool's schema:\n${problem}`
}

async function outcomeOf(tool: AgentTool, call: ToolCallBlock, bench: CallBench): Promise<ToolOutcome> {
  try {
    return await tool.run(call.input, {
      ...bench.context,
      callId: call.callId,
      name: call.name,
      messageId: bench.message,
      signal: bench.signal,
      emit: bench.emit,
    })
  } catch (error) {
    // The model is told, and may try another way.
    return { output: error instanceof Error ? error.message : String(error), isError: true }
  }
}

async function keep(call: ToolCallBlock, outcome: ToolOutcome, bench: CallBench): Promise<void> {
  const { callId, name } = call
  const { output, isError = false } = outcome
  const block = { type: 'tool_result', callId, name, output, ...(isError ? { isError } : {}) } as const
  const result = bench.counted({ role: 'tool_result', blocks: [block] })
  const { ids } = await bench.recording.add([result])
  bench.onResult(result, ids?.[0] ?? null)
  bench.emit({ type: 'tool_ended', callId, name, output, isError })
}

function startOf(call: ToolCallBlock, { recording, message }: CallBench): NewEvent {
  return { type: 'tool_started', data: callData(call, recording.key, message) }
}

function endOf(call: ToolCallBlock, outcome: ToolOutcome, { recording, message }: CallBench): NewEvent {
  const data = {
    ...callData(call, recording.key, message),
    isError: outcome.isError ?? false,
    ...outcome.trace,
  }
  return { type: 'tool_ended', data }
}

function callData(call: ToolCallBlock, turn: string, message: MessageId | null): JsonObject {
  return { call: call.callId, name: call.name, turn, message }
}

function rethrowFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
