import type { Calibration } from '../context/fit/calibrate.ts'
import type { CountTokens, Window } from '../context/fit/window.ts'
import { nameSpeaker } from '../context/view/name-speaker.ts'
import { asBlocks, type ToolCallBlock } from '../core/block.ts'
import type { MessageId } from '../core/ids.ts'
import { type Message, type NewMessage, textOf } from '../core/message.ts'
import type { Model, ModelAnswer, ModelOptions, ToolSpec } from '../core/model.ts'
import { estimateTokens } from '../core/tokens.ts'
import { addUsage, type Usage } from '../core/turn.ts'
import type { TurnRecording } from '../recorder/recording.ts'
import type { ApprovalMemory } from './approval/approval.ts'
import type { Approvals } from './approval/approvals.ts'
import { callModel } from './call-model.ts'
import type { History, ResolvedTarget } from './history/history.ts'
import { localMessage } from './history/local-message.ts'
import type { AgentEvent, PendingApproval, Reply } from './run/events.ts'
import { runCalls } from './tools/run-calls.ts'
import type { ShortenResults } from './tools/shorten-tool-results.ts'
import { specsOf, type Tools } from './tools/tool.ts'

/** The settings that all turns of an agent share. */
export interface LoopSettings {
  readonly model: Model
  readonly tools: Tools
  /** Decides about calls that need an approval. */
  readonly approvals: Approvals
  /** The answers that turns with an `approve` of their own share with the others. */
  readonly approvalMemory: ApprovalMemory
  /** Offered to the model if a result was shortened. */
  readonly readResult: Tools
  readonly window: Window
  readonly count: CountTokens | undefined
  readonly maxSteps: number
  readonly options: ModelOptions
  /** Tokens to keep free for the answer, if they were given. Default: `options.maxOutput`. */
  readonly reserveOutput: number | undefined
  readonly calibration: { current: Calibration }
  readonly shortenResults: ShortenResults
  /** Names the authors of messages. */
  readonly speakers: boolean
}

/** The facts of one turn. */
export interface TurnSetup {
  readonly resolved: ResolvedTarget
  readonly recording: TurnRecording
  readonly history: History
  readonly system: string | null
  /** System texts for this turn only: a digest of earlier conversations. */
  readonly notes: readonly string[]
  /** Calls of a stored answer that were not run before a crash. They run first. */
  readonly unanswered: UnansweredCalls | null
  readonly signal: AbortSignal
  emit(event: AgentEvent): void
}

/** Calls without results, and the message with them. */
export interface UnansweredCalls {
  readonly message: MessageId
  readonly calls: readonly ToolCallBlock[]
}

/** What a turn has reached so far. The reply is made of it, also if the turn is aborted. */
export interface TurnProgress {
  readonly path: Message[]
  text: string
  steps: number
  usage: Usage
  /** The part of the usage that no step has stored: that of summaries. */
  unrecorded: Usage
  stop: Reply['stop']
  /** Calls that wait for an approval: the turn ends, and is resumed later. */
  waiting: readonly PendingApproval[]
}

/** Runs the steps of a turn: calls the model and runs its tools, until an answer has no tool calls. Every
 *  step is stored as it ends. Throws the errors of the model, and the signal's reason. */
export async function runSteps(loop: LoopSettings, setup: TurnSetup, progress: TurnProgress): Promise<void> {
  const { unanswered } = setup
  if (unanswered) await runTools(unanswered.calls, unanswered.message, loop, setup, progress)
  if (progress.waiting.length > 0) return
  while (progress.steps < loop.maxSteps) {
    setup.signal.throwIfAborted()
    const { answer, calls, id } = await nextAnswer(loop, setup, progress)
    if (calls.length === 0) {
      progress.stop = answer.finish
      return
    }
    await runTools(calls, id, loop, setup, progress)
    if (progress.waiting.length > 0) return
  }
  progress.stop = 'steps'
}

interface StoredAnswer {
  readonly answer: ModelAnswer
  readonly calls: readonly ToolCallBlock[]
  readonly id: MessageId | null
}

/** Calls the model with the messages so far, and stores its answer. */
async function nextAnswer(
  loop: LoopSettings,
  setup: TurnSetup,
  progress: TurnProgress,
): Promise<StoredAnswer> {
  const { recording, history, signal } = setup
  const emit = (event: AgentEvent) => {
    if (event.type === 'text') progress.text += event.text
    setup.emit(event)
  }
  progress.text = ''
  const step = ++progress.steps
  const { path, tools } = shownTo(loop, progress.path)
  const specs = await specsOf(tools)
  const answer = await callModel(path, {
    model: loop.model,
    window: loop.window,
    pinned: {
      system: setup.system,
      summary: history.summary,
      notes: setup.notes,
      older: history.missing,
      overhead: toolTokens(specs),
    },
    tools: specs,
    options: loop.options,
    calibration: loop.calibration,
    recording,
    signal,
    step,
    emit,
  })
  const { content: blocks, finish, usage } = answer
  const cut = finish === 'length' || finish === 'filtered' || finish === 'refused'
  const counted = loop.count ? {} : reportedTokens(usage)
  const message = withTokens(
    { role: 'assistant', content: blocks, ...counted, ...(cut && { metadata: { finish } }) },
    loop.count,
  )
  const calls = blocks.filter((block): block is ToolCallBlock => block.type === 'tool_call')
  const { ids } = await recording.add([message], {
    model: loop.model.id,
    // Without calls, the turn ends in the same transaction, so that no crash can come between.
    ...(calls.length > 0 ? { usage } : { usage: addUsage(usage, progress.unrecorded), ends: 'complete' }),
  })
  if (calls.length === 0) progress.unrecorded = {}
  progress.usage = addUsage(progress.usage, usage)
  progress.text = textOf(message)
  const id = ids?.[0] ?? null
  addToPath(progress, message, id)
  emit({ type: 'answered', step, message: id, finish, usage })
  return { answer, calls, id }
}

async function runTools(
  calls: readonly ToolCallBlock[],
  message: MessageId | null,
  { tools, readResult, count, approvals }: LoopSettings,
  { resolved, recording, signal, emit }: TurnSetup,
  progress: TurnProgress,
): Promise<void> {
  const { conversation } = resolved
  const { usage, waiting } = await runCalls(calls, {
    tools: { ...tools, ...readResult },
    recording,
    message,
    signal,
    context: { conversationId: conversation?.id ?? null, messages: progress.path },
    approvals,
    canWait: conversation !== null && conversation.kind !== 'subagent',
    emit,
    withTokens: result => withTokens(result, count),
    onResult: (result, id) => addToPath(progress, result, id),
  })
  progress.usage = addUsage(progress.usage, usage)
  progress.waiting = waiting
  if (waiting.length > 0) progress.stop = 'approval'
}

function addToPath(progress: TurnProgress, message: NewMessage, id: MessageId | null): void {
  progress.path.push(localMessage(message, progress.path.at(-1), id))
}

/** What the model gets of a path: large results are shortened, the tool that reads the rest of them is
 *  offered with the others, and the speakers are named. */
export function shownTo(
  loop: Pick<LoopSettings, 'tools' | 'readResult' | 'shortenResults' | 'speakers'>,
  path: readonly Message[],
): { readonly path: readonly Message[]; readonly tools: Tools } {
  const shown = path.map(loop.shortenResults)
  const isShortened = shown.some((message, i) => message !== path[i])
  return {
    path: loop.speakers ? shown.map(nameSpeaker) : shown,
    tools: isShortened ? { ...loop.tools, ...loop.readResult } : loop.tools,
  }
}

/** The tokens of an answer as the provider reports them, without those of its reasoning, which is not sent
 *  back with later turns. */
function reportedTokens({ output = 0, reasoning = 0 }: Usage): { readonly tokens?: number } {
  return output > reasoning ? { tokens: output - reasoning } : {}
}

/** The tokens of the descriptions of tools. */
export function toolTokens(specs: readonly ToolSpec[]): number {
  return specs.length === 0 ? 0 : estimateTokens(JSON.stringify(specs))
}

/** The tokens that every context of a turn has: the system prompt and the tools. */
export async function pinnedTokens(system: string | null, tools: Tools): Promise<number> {
  return estimateTokens(system ?? '') + toolTokens(await specsOf(tools))
}

/** Adds the tokens of a message, if they are counted exactly: they are stored with it and not counted
 *  again. */
export function withTokens(message: NewMessage, count: CountTokens | undefined): NewMessage {
  if (!count || message.tokens !== undefined) return message
  return { ...message, tokens: count(asBlocks(message.content)) }
}
