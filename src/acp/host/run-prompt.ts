import type { AgentEvent, Reply } from '../../agent/run/events.ts'
import type { BranchRef } from '../../core/branch.ts'
import { InvalidError, ModelError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { contentOf, type NewMessage, textOf } from '../../core/message.ts'
import type { Finish } from '../../core/model.ts'
import { collectPages } from '../../core/pages.ts'
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

/** What a prompt needs of its host. */
export interface HostContext {
  readonly name: string
  readonly agent: Pick<HostAgent, 'ready' | 'lastEnd' | 'cancelPermissions'>
  counted(report: MemoryReport): void
}

export interface HostPrompt {
  readonly words: readonly NewMessage[]
  /** What the agent is asked: the words, unless it is asked again. */
  readonly content: Pick<NewMessage, 'blocks'>
  readonly follows?: MessageId | null
  readonly sending: HostSendOptions
  readonly signal: AbortSignal
  emit(event: AgentEvent): void
  /** It is this prompt's turn now, and no other's. */
  onTurn(): void
}

/** Prompts an agent and tells what comes of it, as our own agent does. */
export async function runPrompt(parts: HostContext, seat: Seat, prompt: HostPrompt): Promise<Reply> {
  const { sending, emit, signal } = prompt
  const told = teller(emit)
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
    onEffect: told.hear,
    onTrouble: trouble => emit({ type: 'trouble', trouble }),
    send: (_, sessionId, telling) => send(parts, sessionId, telling, prompt),
  })
  const stopped = signal.aborted
  if (error !== null && !stopped) throw problemOf(parts, error)
  return {
    text: told.text(),
    status: report.status === 'complete' ? 'complete' : 'interrupted',
    stop: stopped || !end ? 'aborted' : stopOf(end.stop),
    steps: Math.max(1, told.steps()),
    usage: end?.usage ?? {},
    turn: recording!.key,
    branch: report.branch,
    head: report.head,
    saved: report.saved,
    unsaved: report.unsaved,
    ...(report.whenSaved && { whenSaved: report.whenSaved }),
  }
}

/** How long an agent may take to stop when it is asked to. */
const patienceMs = 10_000

async function send(
  { agent }: HostContext,
  sessionId: string,
  telling: string | null,
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
    const prompt = promptOf(content, telling)
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

/** What it has to know first, then what is said: each a block of its own. */
function promptOf({ blocks }: Pick<NewMessage, 'blocks'>, telling: string | null): readonly JsonObject[] {
  const prompt: JsonObject[] = telling === null ? [] : [{ type: 'text', text: telling }]
  if (typeof blocks === 'string') return [...prompt, { type: 'text', text: blocks }]
  for (const block of blocks) {
    const content = contentFromBlock(block)
    if (content) prompt.push(content)
  }
  return prompt
}

/** Turns what is kept of a turn into what a run tells. */
function teller(emit: (event: AgentEvent) => void) {
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
          if (effect.event.type === 'plan')
            emit({ type: 'plan', entries: effect.event.data?.entries ?? null })
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
  refusal: 'filtered',
  cancelled: 'aborted',
}

function stopOf(stop: string): Finish | 'steps' | 'aborted' {
  return stops[stop] ?? 'other'
}

/** What a person can do about it. */
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
  const problem = `it ended${how}${words === '' ? '' : `: ${words}`}. What was said is kept; the next message starts it again`
  return new ModelError(name, problem, { retryable: true, cause: error })
}

/** What an agent is asked so that it goes on with an answer that was interrupted, and the message that this
 *  follows. */
export interface RetryPrompt {
  readonly content: Pick<NewMessage, 'blocks'>
  readonly follows: MessageId | null
}

const nudge = '[Your last answer was interrupted. Go on where it stops.]'

/** A question that was not answered at all is asked again; of an answer that broke off, the rest is asked
 *  for. Nobody said so: it is in this prompt only. Throws InvalidError if the last turn came to its end. */
export async function retryPrompt(
  store: Pick<ConversationReader, 'getBranch'> & Pick<MessageReader, 'getMessages' | 'listTurns'>,
  branch: BranchRef,
): Promise<RetryPrompt> {
  const { head } = await store.getBranch(branch)
  if (head === null) throw new InvalidError('conversation', 'there is nothing to resume: nothing was said')
  const [last] = await store.getMessages([head])
  const turns = await collectPages(page => store.listTurns(branch.conversationId, page))
  const turn = turns.find(({ first }) => first === last!.turn)
  if (turn?.status === 'complete')
    throw new InvalidError('conversation', 'there is nothing to resume: its last turn has come to its end')
  if (last!.role === 'user') return { content: { blocks: contentOf(last!) }, follows: last!.parentId }
  return { content: { blocks: nudge }, follows: head }
}
