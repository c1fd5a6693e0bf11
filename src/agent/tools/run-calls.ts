import type { ToolCallBlock } from '../../core/block.ts'
import { errorText } from '../../core/error-text.ts'
import type { NewEvent } from '../../core/event.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import { addUsage, type Usage } from '../../core/turn.ts'
import { unlessAborted } from '../../core/wait.ts'
import type { TurnRecording } from '../../recorder/recording.ts'
import type { AgentEvent } from '../run/events.ts'
import type { AgentTool, ToolContext, ToolOutcome, Tools } from './tool.ts'

/** The setting in which the calls of one answer run. */
export interface RunCallsOptions {
  readonly tools: Tools
  readonly recording: TurnRecording
  /** The message with the calls, if it is stored. */
  readonly message: MessageId | null
  readonly signal: AbortSignal
  /** What a tool gets besides its own call. */
  readonly context: Pick<ToolContext, 'conversationId' | 'messages'>
  emit(event: AgentEvent): void
  /** Adds the tokens of a result, if they are counted. */
  withTokens(result: NewMessage): NewMessage
  /** Called with every result, in the order in which they are stored. */
  onResult(result: NewMessage, id: MessageId | null): void
}

/** Runs the calls of an answer in parallel, and stores each result as it comes. The start of a tool is stored
 *  before it runs, so that it is not run again after a crash. Returns the usage of models that the tools
 *  called. Throws the signal's reason if it is aborted; results up to then are stored. */
export async function runCalls(calls: readonly ToolCallBlock[], options: RunCallsOptions): Promise<Usage> {
  const { tools, recording, signal, emit } = options
  const checked = await Promise.all(
    calls.map(async call => ({ call, problem: await refusalOf(call, tools) })),
  )
  const runnable = checked.filter(({ problem }) => problem === null).map(({ call }) => call)
  for (const { call, problem } of checked) {
    if (problem !== null) await storeResult(call, { output: problem, isError: true }, options)
  }
  if (runnable.length === 0) return {}
  await recording.trace(runnable.map(call => startOf(call, options)))
  signal.throwIfAborted()
  let usage: Usage = {}
  await Promise.allSettled(
    runnable.map(async call => {
      emit({ type: 'tool_started', callId: call.callId, name: call.name, input: call.input })
      // A tool may not listen to the signal; its outcome is then unknown.
      const outcome = await unlessAborted(outcomeOf(tools[call.name]!, call, options), signal)
      usage = addUsage(usage, outcome.usage ?? {})
      await storeResult(call, outcome, options)
      await recording.trace([endOf(call, outcome, options)])
    }),
  ).then(rethrowFirst)
  return usage
}

/** Why a call cannot be run, in a text for the model. */
async function refusalOf(call: ToolCallBlock, tools: Tools): Promise<string | null> {
  const found = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined
  if (!found)
    return `there is no tool ${JSON.stringify(call.name)}; there are: ${Object.keys(tools).join(', ')}`
  const problem = await found.check(call.input)
  return problem === null ? null : `the input does not fit the tool's schema:\n${problem}`
}

async function outcomeOf(
  tool: AgentTool,
  call: ToolCallBlock,
  options: RunCallsOptions,
): Promise<ToolOutcome> {
  try {
    return await tool.run(call.input, {
      ...options.context,
      callId: call.callId,
      name: call.name,
      messageId: options.message,
      signal: options.signal,
      emit: options.emit,
    })
  } catch (error) {
    // The model gets the error as the result, and may try another way.
    return { output: errorText(error), isError: true }
  }
}

async function storeResult(
  call: ToolCallBlock,
  outcome: ToolOutcome,
  options: RunCallsOptions,
): Promise<void> {
  const { callId, name } = call
  const { output, isError = false } = outcome
  const block = { type: 'tool_result', callId, name, output, ...(isError ? { isError } : {}) } as const
  const result = options.withTokens({ role: 'tool_result', content: [block] })
  const { ids } = await options.recording.add([result])
  options.onResult(result, ids?.[0] ?? null)
  options.emit({ type: 'tool_ended', callId, name, output, isError })
}

function startOf(call: ToolCallBlock, { recording, message }: RunCallsOptions): NewEvent {
  return { type: 'tool_started', data: callData(call, recording.key, message) }
}

function endOf(call: ToolCallBlock, outcome: ToolOutcome, { recording, message }: RunCallsOptions): NewEvent {
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
