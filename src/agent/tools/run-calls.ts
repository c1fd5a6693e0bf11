import { type ApprovalRequest, answerNames } from '../../core/approval.ts'
import type { ToolCallBlock } from '../../core/block.ts'
import { errorText } from '../../core/error-text.ts'
import type { NewEvent } from '../../core/event.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import { addUsage, type Usage } from '../../core/turn.ts'
import { unlessAborted } from '../../core/wait.ts'
import { approvalIdOf, approvalRequestEvent } from '../../recorder/approval-request.ts'
import type { TurnRecording } from '../../recorder/recording.ts'
import type { Approve } from '../approval/approval.ts'
import { type Approvals, permissionEvent } from '../approval/approvals.ts'
import { callKind, callTitle } from '../approval/call-details.ts'
import type { AgentEvent, PendingApproval } from '../run/events.ts'
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
  /** Decides about calls that need an approval. */
  readonly approvals: Approvals
  /** Whether the turn may end while a call waits for an approval, to be resumed later. */
  readonly canWait: boolean
  emit(event: AgentEvent): void
  /** Adds the tokens of a result, if they are counted. */
  withTokens(result: NewMessage): NewMessage
  /** Called with every result, in the order in which they are stored. */
  onResult(result: NewMessage, id: MessageId | null): void
}

/** The outcome of the calls of an answer. */
export interface CallsOutcome {
  /** The usage of models that the tools called. */
  readonly usage: Usage
  /** Calls that wait for an approval. They have not run. */
  readonly waiting: readonly PendingApproval[]
}

/** Runs the calls of an answer in parallel, and stores each result as it comes. The start of a tool is
 *  stored before it runs, so that it is not run again after a crash; an approval comes before that.
 *  Throws the signal's reason if it is aborted; results up to then are stored. */
export async function runCalls(
  calls: readonly ToolCallBlock[],
  options: RunCallsOptions,
): Promise<CallsOutcome> {
  const { recording, signal } = options
  const checked = await Promise.all(calls.map(call => checkCall(call, options)))
  for (const { call, problem } of checked) {
    if (problem !== null) await storeResult(call, { output: problem, isError: true }, options)
  }
  const runnable = checked.filter(({ problem }) => problem === null)
  if (runnable.length === 0) return { usage: {}, waiting: [] }
  const free = runnable.filter(({ request }) => request === null).map(({ call }) => call)
  if (free.length > 0) await recording.trace(free.map(call => startOf(call, options)))
  signal.throwIfAborted()
  let usage: Usage = {}
  const add = (one: Usage) => {
    usage = addUsage(usage, one)
  }
  const waiting: PendingApproval[] = []
  await Promise.allSettled([
    ...free.map(async call => add(await runCall(call, options))),
    ...runnable.map(async ({ call, request }) => {
      const answer = request === null ? 'deny' : await mayRun(call, request, options)
      if (answer === 'allow') add(await runCall(call, options))
      if (answer === 'later') waiting.push(pendingOf(request!))
    }),
  ]).then(rethrowFirst)
  return { usage, waiting }
}

function pendingOf(request: ApprovalRequest): PendingApproval {
  return { ...request, id: approvalIdOf(request.messageId!, request.callId) }
}

/** A call, why it cannot be run, and the approval that it needs. */
interface CheckedCall {
  readonly call: ToolCallBlock
  readonly problem: string | null
  readonly request: ApprovalRequest | null
}

async function checkCall(call: ToolCallBlock, options: RunCallsOptions): Promise<CheckedCall> {
  const problem = await refusalOf(call, options.tools)
  if (problem !== null) return { call, problem, request: null }
  try {
    return { call, problem: null, request: await requestFor(options.tools[call.name]!, call, options) }
  } catch (error) {
    options.signal.throwIfAborted()
    return { call, problem: errorText(error), request: null }
  }
}

/** The approval that a call needs; null if it needs none. */
async function requestFor(
  tool: AgentTool,
  call: ToolCallBlock,
  options: RunCallsOptions,
): Promise<ApprovalRequest | null> {
  const { approvals, recording, message, signal } = options
  const { callId, name, input } = call
  const { needsApproval = approvals.canAsk && tool.readOnly !== true } = tool
  const need =
    typeof needsApproval === 'function' ? await needsApproval(input, { callId, name, signal }) : needsApproval
  if (need === false) return null
  const {
    title = callTitle(name, input),
    preview = null,
    reason = null,
    scope = name,
  } = need === true ? {} : need
  return {
    callId,
    name,
    input,
    kind: tool.kind ?? callKind(name),
    title,
    preview,
    reason,
    scope,
    conversationId: options.context.conversationId,
    messageId: message,
    turn: recording.key,
  }
}

/** Asks for an approval. An allowed call is stored as started; a denied one gets a result that says so. */
async function mayRun(
  call: ToolCallBlock,
  request: ApprovalRequest,
  options: RunCallsOptions,
): Promise<'allow' | 'deny' | 'later'> {
  const { approvals, recording, signal, emit, canWait } = options
  const { title, callId } = request
  const decision = await approvals.decide(request, signal, {
    canWait,
    onAsk: () => emit({ type: 'asking', title, request }),
    async keep() {
      const event = approvalRequestEvent(request, recording.branch.name)
      if (event !== null) await recording.trace([event])
    },
  })
  const { answer, wasAsked, isStored, refusal } = decision
  if (answer === null) return 'later'
  const asked = wasAsked && !isStored ? [permissionEvent(request, answer)] : []
  if (wasAsked)
    emit({ type: 'asked', title, callId, choice: answerNames[answer], isAllowed: answer !== 'deny' })
  if (refusal !== null) {
    await storeResult(call, { output: refusal, isError: true }, options)
    if (asked.length > 0) await recording.trace(asked)
    return 'deny'
  }
  await recording.trace([...asked, startOf(call, options)])
  signal.throwIfAborted()
  return 'allow'
}

/** Runs a call whose start is stored, and stores its result. */
async function runCall(call: ToolCallBlock, options: RunCallsOptions): Promise<Usage> {
  const { tools, recording, signal, emit } = options
  emit({ type: 'tool_started', callId: call.callId, name: call.name, input: call.input })
  // A tool may not listen to the signal; its outcome is then unknown.
  const outcome = await unlessAborted(outcomeOf(tools[call.name]!, call, options), signal)
  await storeResult(call, outcome, options)
  await recording.trace([endOf(call, outcome, options)])
  return outcome.usage ?? {}
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
  const limit = timeLimit(options.signal, tool.timeoutMs)
  try {
    const running = tool.run(call.input, {
      ...options.context,
      callId: call.callId,
      name: call.name,
      messageId: options.message,
      signal: limit.signal,
      ...(options.approvals.canAsk && { approve: passedOn(options.approvals) }),
      emit: options.emit,
    })
    // A tool that ignores its signal must not hold up the turn.
    return await unlessAborted(running, limit.signal)
  } catch (error) {
    options.signal.throwIfAborted()
    if (limit.signal.aborted) return { output: timeoutText(tool.timeoutMs!), isError: true }
    // The model gets the error as the result, and may try another way.
    return { output: errorText(error), isError: true }
  } finally {
    limit.end()
  }
}

/** The signal of a call: aborted with the run, and when its time is up. */
function timeLimit(signal: AbortSignal, ms: number | undefined) {
  if (ms === undefined) return { signal, end: () => undefined }
  const own = new AbortController()
  const stop = () => own.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  const timer = setTimeout(() => own.abort(new DOMException(timeoutText(ms), 'TimeoutError')), ms)
  return {
    signal: own.signal,
    end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    },
  }
}

function timeoutText(ms: number): string {
  return `The call took longer than ${ms / 1_000} s and was stopped. It may have done a part of its work.`
}

/** `approve` for an agent that a tool runs: its requests wait in the same queue. It stores them itself. */
function passedOn(approvals: Approvals): Approve {
  const hooks = { canWait: false, onAsk: () => undefined, keep: async () => undefined }
  return async (request, signal) => (await approvals.decide(request, signal, hooks)).answer ?? 'deny'
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
