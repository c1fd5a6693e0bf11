import { continuationPrompt } from '../../agent/interruption.ts'
import type { AgentEvent, Reply } from '../../agent/run/events.ts'
import { asBlocks } from '../../core/block.ts'
import type { BranchRef } from '../../core/branch.ts'
import { InvalidError, ModelError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { contentOf, type NewMessage, textOf } from '../../core/message.ts'
import type { Finish } from '../../core/model.ts'
import { itemsOf } from '../../core/pages.ts'
import type { ConversationReader, MessageReader } from '../../core/ports.ts'
import type { TurnRecording } from '../../recorder/recording.ts'
import type { MemoryReport } from '../memory/memory-report.ts'
import { exitReason } from '../process/agent-process.ts'
import type { Seat } from '../seat/seat.ts'
import type { PromptEnd } from '../seat/seat-prompt.ts'
import { promptEndOf } from '../seat/seat-prompt.ts'
import { contentFromBlock } from '../transcript/content.ts'
import type { FoldEffect } from '../transcript/fold.ts'
import { authRequired, ConnectionEnded, RpcError } from '../wire/rpc-error.ts'
import type { HostSendOptions } from './host.ts'
import type { HostAgent } from './host-agent.ts'

/** The parts of a host that a prompt needs. */
export interface HostContext {
  readonly name: string
  readonly agent: Pick<HostAgent, 'ready' | 'lastEnd' | 'cancelPermissions'>
  counted(report: MemoryReport): void
}

export interface HostPrompt {
  readonly words: readonly NewMessage[]
  /** The content of the prompt: `words`, unless an interrupted turn is resumed. */
  readonly content: Pick<NewMessage, 'content'>
  readonly follows?: MessageId | null
  readonly system: string | null
  readonly sending: HostSendOptions
  readonly signal: AbortSignal
  emit(event: AgentEvent): void
  /** The turn of this prompt begins now. */
  onTurn(): void
}

/** Prompts the agent and emits the events of a run, as our own agent does. */
export async function runPrompt(parts: HostContext, seat: Seat, prompt: HostPrompt): Promise<Reply> {
  const { sending, emit, signal } = prompt
  const events = runEvents(emit)
  let recording: TurnRecording | null = null
  const { report, end, error } = await seat.prompt({
    words: prompt.words,
    signal,
    onBusy: sending.onBusy ?? 'wait',
    ...(prompt.follows === undefined ? {} : { follows: prompt.follows }),
    ...(sending.history ? { history: sending.history } : {}),
    ...(sending.key === undefined ? {} : { key: sending.key }),
    onBegun(begun) {
      recording = begun
      prompt.onTurn()
      emit({ type: 'started', turn: begun.key, branch: begun.branch, forked: begun.forked })
    },
    onMemory(memory) {
      parts.counted(memory)
      emit({ type: 'memory', ...memory })
    },
    onEffect: events.hear,
    onTrouble: trouble => emit({ type: 'trouble', trouble }),
    onWait: wait => emit({ type: 'waiting', ...wait }),
    ...(prompt.system === null ? {} : { system: prompt.system }),
    send: (_, sessionId, injected, system) => send(parts, sessionId, [system, injected], prompt),
  })
  const stopped = signal.aborted
  if (error !== null && !stopped) throw problemOf(parts, error)
  return {
    text: events.text(),
    status: report.status === 'complete' ? 'complete' : 'interrupted',
    stop: stopped || !end ? 'aborted' : stopOf(end.stop),
    steps: Math.max(1, events.steps()),
    usage: end?.usage ?? {},
    turn: recording!.key,
    branch: report.branch,
    head: report.head,
    saved: report.saved,
    unsaved: report.unsaved,
    ...(report.whenSaved && { whenSaved: report.whenSaved }),
  }
}

/** How long an agent may take to stop after `session/cancel`. */
const patienceMs = 10_000

async function send(
  { agent }: HostContext,
  sessionId: string,
  before: readonly (string | null)[],
  { content, signal }: HostPrompt,
): Promise<PromptEnd> {
  const running = await agent.ready()
  const given = Promise.withResolvers<never>()
  let lastChance: NodeJS.Timeout | undefined
  const cancel = () => {
    agent.cancelPermissions(sessionId)
    running.notify('session/cancel', { sessionId })
    lastChance = setTimeout(() => given.reject(signal.reason), patienceMs)
  }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const prompt = promptOf(content, before)
    const result = await Promise.race([
      running.request('session/prompt', { sessionId, prompt }),
      given.promise,
    ])
    return promptEndOf(result)
  } finally {
    clearTimeout(lastChance)
    signal.removeEventListener('abort', cancel)
  }
}

/** The system prompt, the injected history and the prompt, each as its own block (S4-17). */
function promptOf(
  { content }: Pick<NewMessage, 'content'>,
  before: readonly (string | null)[],
): readonly JsonObject[] {
  const prompt: JsonObject[] = before.flatMap(text => (text === null ? [] : [{ type: 'text', text }]))
  for (const block of asBlocks(content)) {
    const sent = contentFromBlock(block)
    if (sent) prompt.push(sent)
  }
  return prompt
}

/** Converts the effects of a turn to the events of a run. */
function runEvents(emit: (event: AgentEvent) => void) {
  let text = ''
  let steps = 0
  return {
    text: () => text,
    steps: () => steps,
    hear(effect: FoldEffect): void {
      switch (effect.type) {
        case 'draft':
          emit({ type: effect.piece.type, text: effect.piece.text })
          return
        case 'started':
          emit({ type: 'tool_started', callId: effect.callId, name: effect.name, input: effect.input })
          return
        case 'ended': {
          const { callId, name, output, isError } = effect
          emit({ type: 'tool_ended', callId, name, output, isError })
          return
        }
        case 'message':
          if (effect.message.role !== 'assistant') return
          steps++
          text = textOf(effect.message)
          emit({ type: 'answered', step: steps, message: null, finish: 'other', usage: {} })
          return
        case 'trace':
          if (effect.event.type === 'plan') {
            const { entries = null } = (effect.event.data ?? {}) as JsonObject
            emit({ type: 'plan', entries })
          }
          return
        default:
          effect satisfies never
      }
    },
  }
}

const stops: Readonly<Record<string, Reply['stop']>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  max_turn_requests: 'steps',
  refusal: 'refused',
  cancelled: 'aborted',
}

function stopOf(stop: string): Finish | 'steps' | 'aborted' {
  return stops[stop] ?? 'other'
}

/** The error, with the action that helps. */
function problemOf({ name, agent }: HostContext, error: unknown): unknown {
  if (error instanceof RpcError && error.code === authRequired)
    return new ModelError(name, `it wants you to sign in first: start it by itself once (${error.message})`, {
      cause: error,
    })
  if (error instanceof RpcError) return new ModelError(name, error.message, { retryable: true, cause: error })
  if (!(error instanceof ConnectionEnded)) return error
  const end = agent.lastEnd
  const how = end ? ` (${exitReason(end)})` : ''
  const words = end?.stderr.trim().split('\n').at(-1) ?? ''
  const problem = `it ended${how}${words === '' ? '' : `: ${words}`}. The conversation is stored; the next message starts the agent again`
  return new ModelError(name, problem, { retryable: true, cause: error })
}

/** The prompt that resumes an interrupted turn, and the message that it follows. */
export interface RetryPrompt {
  readonly content: Pick<NewMessage, 'content'>
  readonly follows: MessageId | null
}

/** Repeats a question without an answer, or asks for the rest of an answer. This prompt is not stored. Throws
 *  InvalidError if the last turn is complete. */
export async function retryPrompt(
  store: Pick<ConversationReader, 'getBranch'> & Pick<MessageReader, 'getMessages' | 'listTurns'>,
  branch: BranchRef,
): Promise<RetryPrompt> {
  const { head } = await store.getBranch(branch)
  if (head === null) throw new InvalidError('conversation', 'there is nothing to resume: nothing was said')
  const [last] = await store.getMessages([head])
  // The turn may have been completed on another branch: this one ends with the question.
  if (last!.role === 'user') return { content: { content: contentOf(last!) }, follows: last!.parentId }
  if (last!.turn !== null && (await isComplete(store, branch.conversationId, last!.turn)))
    throw new InvalidError('conversation', 'there is nothing to resume: its last turn has come to its end')
  return { content: { content: continuationPrompt }, follows: head }
}

async function isComplete(
  store: Pick<MessageReader, 'listTurns'>,
  id: ConversationId,
  first: number,
): Promise<boolean> {
  for await (const turn of itemsOf(page => store.listTurns(id, { order: 'descending', ...page }))) {
    if (turn.first === first) return turn.status === 'complete'
  }
  return false
}
