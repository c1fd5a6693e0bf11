import type { Calibration } from '../context/fit/calibrate.ts'
import type { CountTokens, Window } from '../context/fit/window.ts'
import type { ToolCallBlock } from '../core/block.ts'
import type { MessageId } from '../core/ids.ts'
import { type Message, type NewMessage, textOf } from '../core/message.ts'
import type { Model, ModelAnswer } from '../core/model.ts'
import { estimateTokens } from '../core/tokens.ts'
import { addUsage, type Usage } from '../core/turn.ts'
import type { TurnRecording } from '../recorder/recording.ts'
import { ask } from './ask.ts'
import { runCalls } from './calls.ts'
import type { AgentEvent, Reply } from './events.ts'
import type { History, Meeting } from './journal.ts'
import { localMessage } from './local-message.ts'
import type { Shown } from './shown.ts'
import { specsOf, type Tools } from './tool.ts'

/** What every turn of an agent has in common. */
export interface TurnParts {
  readonly model: Model
  readonly tools: Tools
  /** Offered where a result was too large to be shown whole. */
  readonly readResult: Tools
  readonly window: Window
  readonly count: CountTokens | undefined
  readonly maxSteps: number
  readonly maxOutput: number | undefined
  readonly calibration: { current: Calibration }
  readonly shown: Shown
}

/** What one turn has of its own. */
export interface TurnGiven {
  readonly meeting: Meeting
  readonly recording: TurnRecording
  readonly history: History
  readonly system: string | null
  /** System texts for this turn only: a digest of earlier conversations. */
  readonly notes: readonly string[]
  /** Calls of an answer that was stored before a crash, and that may be run now: they come first. */
  readonly unanswered: Unanswered | null
  readonly signal: AbortSignal
  emit(event: AgentEvent): void
}

/** Calls that wait for their results, and the message that holds them. */
export interface Unanswered {
  readonly message: MessageId
  readonly calls: readonly ToolCallBlock[]
}

/** What a turn has reached so far: an aborted one replies with it. */
export interface Progress {
  readonly path: Message[]
  text: string
  steps: number
  usage: Usage
  /** The part of it that no step has recorded: what summaries cost. */
  unrecorded: Usage
  stop: Reply['stop']
}

/** Takes the steps of a turn: the model is asked and its tools are run, until it asks for none. Every step is kept
 *  as it ends. Throws what the model throws, and the signal's reason. */
export async function takeSteps(parts: TurnParts, given: TurnGiven, progress: Progress): Promise<void> {
  const { unanswered } = given
  if (unanswered) await run(unanswered.calls, unanswered.message, parts, given, progress)
  while (progress.steps < parts.maxSteps) {
    given.signal.throwIfAborted()
    const { answer, calls, id } = await nextAnswer(parts, given, progress)
    if (calls.length === 0) {
      progress.stop = answer.finish
      return
    }
    await run(calls, id, parts, given, progress)
  }
  progress.stop = 'steps'
}

interface Kept {
  readonly answer: ModelAnswer
  readonly calls: readonly ToolCallBlock[]
  readonly id: MessageId | null
}

async function nextAnswer(parts: TurnParts, given: TurnGiven, progress: Progress): Promise<Kept> {
  const { recording, history, signal } = given
  const emit = (event: AgentEvent) => {
    if (event.type === 'text') progress.text += event.text
    given.emit(event)
  }
  progress.text = ''
  const step = ++progress.steps
  const shown = progress.path.map(parts.shown)
  const isShortened = shown.some((message, i) => message !== progress.path[i])
  const tools = isShortened ? { ...parts.tools, ...parts.readResult } : parts.tools
  const answer = await ask(shown, {
    model: parts.model,
    window: parts.window,
    pinned: {
      system: given.system,
      summary: history.summary,
      notes: given.notes,
      older: history.missing,
      overhead: toolTokens(tools),
    },
    tools: specsOf(tools),
    maxOutput: parts.maxOutput,
    calibration: parts.calibration,
    recording,
    signal,
    step,
    emit,
  })
  const { blocks, finish, usage } = answer
  const message = counted({ role: 'assistant', blocks }, parts.count)
  const calls = blocks.filter((block): block is ToolCallBlock => block.type === 'tool_call')
  const { ids } = await recording.add([message], {
    model: answer.model ?? parts.model.id,
    // Without calls this is the end: in one transaction with the answer, so that no crash can come between.
    ...(calls.length > 0 ? { usage } : { usage: addUsage(usage, progress.unrecorded), ends: 'complete' }),
  })
  if (calls.length === 0) progress.unrecorded = {}
  progress.usage = addUsage(progress.usage, usage)
  progress.text = textOf(message)
  const id = ids?.[0] ?? null
  remember(progress, message, id)
  emit({ type: 'answered', step, message: id, finish, usage })
  return { answer, calls, id }
}

async function run(
  calls: readonly ToolCallBlock[],
  message: MessageId | null,
  { tools, readResult, count }: TurnParts,
  { meeting, recording, signal, emit }: TurnGiven,
  progress: Progress,
): Promise<void> {
  const charged = await runCalls(calls, {
    tools: { ...tools, ...readResult },
    recording,
    message,
    signal,
    context: { conversationId: meeting.conversation?.id ?? null, messages: progress.path },
    emit,
    counted: message => counted(message, count),
    onResult: (result, id) => remember(progress, result, id),
  })
  progress.usage = addUsage(progress.usage, charged)
}

function remember(progress: Progress, message: NewMessage, id: Message['id'] | null): void {
  progress.path.push(localMessage(message, progress.path.at(-1), id))
}

function toolTokens(tools: Tools): number {
  return Object.keys(tools).length === 0 ? 0 : estimateTokens(JSON.stringify(specsOf(tools)))
}

/** Tokens that every context of a turn has, whatever was said. */
export function pinnedTokens(system: string | null, tools: Tools): number {
  return estimateTokens(system ?? '') + toolTokens(tools)
}

/** A message with its tokens, if they are counted exactly: then they are stored, and not counted again. */
export function counted(message: NewMessage, count: CountTokens | undefined): NewMessage {
  if (!count || message.tokens !== undefined) return message
  const { blocks } = message
  return { ...message, tokens: count(typeof blocks === 'string' ? [{ type: 'text', text: blocks }] : blocks) }
}
