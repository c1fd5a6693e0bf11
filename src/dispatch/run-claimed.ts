import { type Agent, createAgent } from '../agent/agent.ts'
import { resolveModel } from '../agent/agent-model.ts'
import type { AgentEvent, Reply } from '../agent/run/events.ts'
import { errorText } from '../core/error-text.ts'
import { ExpiredError, NotFoundError } from '../core/errors.ts'
import type { BranchInConversation } from '../core/ports.ts'
import { type ClaimedDispatch, type Dispatch, type DispatchEnd, wordsOfDispatch } from '../core/task.ts'
import { addUsage, type Usage } from '../core/turn.ts'
import { keepClaim, persist } from './claims.ts'
import type { DispatchEvent } from './dispatch-event.ts'
import type { DispatchResult } from './dispatch-result.ts'
import { wait } from './dispatch-source.ts'
import type { DispatchAgent, DispatcherState } from './dispatcher-options.ts'
import { taskConversation } from './task-conversation.ts'

/** Why a run was aborted. */
type Abortion = 'cancelled' | 'lost' | 'stopping' | 'timeout'

/** What became of a claimed dispatch: null if it was given back or lost. */
export type DispatchOutcome = { readonly dispatch: Dispatch; readonly result: DispatchResult } | null

/** How a claimed dispatch is run. */
export interface RunOptions {
  /** The name of the worker. */
  readonly worker: string
  /** Gives the dispatch back: its turn is interrupted and stored, and continues with the next claim. */
  readonly signal?: AbortSignal | undefined
  /** Receives what happens. */
  readonly report: (event: DispatchEvent) => void
}

/** Runs a claimed dispatch to its end: one turn of the task's conversation, under the key `dispatch:<n>`. If
 *  an earlier worker died in that turn, the turn continues. */
export async function runClaimed(
  state: DispatcherState,
  claimed: ClaimedDispatch,
  options: RunOptions,
): Promise<DispatchOutcome> {
  const { tasks, source } = state
  const { task, dispatch, claim } = claimed
  const { report } = options
  const start = source.elapsed()
  const trouble = (what: string) => (error: unknown) => report({ type: 'trouble', what, error })
  report({ type: 'started', task, dispatch, queuedMs: queuedMsOf(dispatch) })

  let abortion: Abortion | null = null
  const stopping = new AbortController()
  const stop = (reason: Abortion) => {
    abortion ??= reason
    stopping.abort(new Error(stopTexts[reason]))
  }
  const onOuter = () => stop('stopping')
  if (options.signal?.aborted) onOuter()
  options.signal?.addEventListener('abort', onOuter, { once: true })
  const done = new AbortController()
  const kept = keepClaim(tasks, claim, source, done.signal, {
    stop,
    trouble: (what, error) => trouble(what)(error),
  })
  const cancelTimeout = source.after(state.timeoutMs, () => stop('timeout'), { idle: true })

  let firstWordMs: number | null = null
  const onEvent = (event: AgentEvent) => {
    if (event.type === 'text') firstWordMs ??= source.elapsed() - start
    report({ type: 'agent', task, event })
  }
  let outcome: TurnOutcome
  try {
    outcome = await runTurn(state, claimed, { ...options, signal: stopping.signal, onEvent })
  } catch (error) {
    outcome = { ...nothing, error: errorText(error) }
  } finally {
    cancelTimeout()
    options.signal?.removeEventListener('abort', onOuter)
  }
  try {
    return await settle()
  } catch (error) {
    if (!(error instanceof ExpiredError || error instanceof NotFoundError)) throw error
    report({ type: 'lost', task, n: claim.n })
    return null
  } finally {
    done.abort()
    await kept
    await outcome.close()
  }

  async function settle(): Promise<DispatchOutcome> {
    if (abortion === 'lost') throw new ExpiredError('the claim was lost')
    const isAborted = outcome.reply === null ? outcome.error !== null : outcome.reply.status === 'interrupted'
    if (abortion === 'stopping' && isAborted) {
      const release = () => tasks.releaseDispatch(claim)
      await persist(release, source, { withinMs: state.retryMs, trouble: trouble('give the task back') })
      report({ type: 'released', task, n: claim.n })
      return null
    }
    const failure = isAborted && abortion !== null ? stopTexts[abortion] : outcome.error
    const result = resultOf(
      state,
      claimed,
      await withAllUsage(state, claimed, outcome),
      failure,
      options.worker,
    )
    const end = endOf(abortion === 'cancelled' && isAborted ? 'cancelled' : null, result, failure)
    const finish = () => tasks.finishDispatch(claim, end)
    const ended = await persist(finish, source, {
      withinMs: state.retryMs,
      trouble: trouble('store the result'),
    })
    const ranMs = source.elapsed() - start
    const figures = { ran_ms: Math.round(ranMs), first_word_ms: rounded(firstWordMs) }
    await traceEnd(
      state,
      outcome,
      ended,
      { ...figures, tokens: result.tokens_used },
      trouble('trace its end'),
    )
    report({ type: 'ended', task, dispatch: ended, result, ranMs, firstWordMs })
    return { dispatch: ended, result }
  }
}

function queuedMsOf({ startedAt, queuedAt }: Dispatch): number {
  return Math.max(0, (startedAt?.getTime() ?? 0) - (queuedAt?.getTime() ?? 0))
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms)
}

const stopTexts: Readonly<Record<Abortion, string>> = {
  cancelled: 'cancelled',
  lost: 'another worker has taken the dispatch',
  stopping: 'the worker stops',
  timeout: 'the dispatch took longer than its time limit',
}

/** What the turn of a dispatch came to. */
interface TurnOutcome {
  readonly place: BranchInConversation | null
  readonly agentId: string
  /** Null if the turn failed. */
  readonly reply: Reply | null
  readonly usage: Usage
  readonly error: string | null
  close(): Promise<void>
}

const nothing = { place: null, agentId: '', reply: null, usage: {}, error: null, close: async () => {} }

async function runTurn(
  state: DispatcherState,
  claimed: ClaimedDispatch,
  options: RunOptions & { readonly signal: AbortSignal; onEvent(event: AgentEvent): void },
): Promise<TurnOutcome> {
  const { task, dispatch } = claimed
  const { id: agentId = 'agent', ...made } = await state.agentFor(task, dispatch)
  const { source, retryMs } = state
  const { signal, report } = options
  const trouble = (error: unknown) => report({ type: 'trouble', what: 'run the dispatch', error })
  const isStored = state.storesConversations(task.project)
  const place = isStored
    ? await persist(() => openConversation(state, claimed, { ...made, id: agentId }, options), source, {
        ...{ withinMs: retryMs, trouble, signal },
      }).catch(rethrowUncreated)
    : null
  const agent = createAgent({ ...made, ...(place ? { store: state.store } : {}) })
  const base = { place, agentId, close: () => agent.close({ withinMs: state.saveWithinMs }) }
  let usage: Usage = {}
  const onEvent = (event: AgentEvent) => {
    if (event.type === 'answered') usage = addUsage(usage, event.usage)
    options.onEvent(event)
  }
  try {
    const words = wordsOfDispatch(task, dispatch)
    // While the store cannot be reached, the turn is tried again: its key makes it the same one.
    const send = async () => {
      const key = place ? await turnKey(state, place, dispatch) : `dispatch:${dispatch.n}`
      return answer(agent, place?.branch ?? task.id, words, key, { ...options, onEvent, state })
    }
    const reply = await persist(send, source, { withinMs: retryMs, trouble, signal })
    const error = reply.stop === 'steps' ? `the agent reached its limit of ${reply.steps} steps` : null
    return { ...base, reply, usage: reply.usage, error }
  } catch (error) {
    return { ...base, reply: null, usage, error: errorText(error) }
  }
}

/** Sends the words and waits for the answer. An agent that does not stop when asked is left behind. */
async function answer(
  agent: Agent,
  target: Parameters<Agent['send']>[0],
  words: string,
  key: string,
  options: {
    readonly state: DispatcherState
    readonly signal: AbortSignal
    onEvent(event: AgentEvent): void
  },
): Promise<Reply> {
  const { state, signal, onEvent } = options
  const run = agent.send(target, words, { key, onBusy: 'wait', signal })
  const finished = (async () => {
    for await (const event of run) onEvent(event)
    return run.result()
  })()
  finished.catch(() => undefined)
  const left = new AbortController()
  const gaveUp = (async () => {
    await aborted(signal, left.signal)
    if (!left.signal.aborted) await wait(state.abortWithinMs, state.source, left.signal)
    throw signal.reason
  })()
  gaveUp.catch(() => undefined)
  try {
    const reply = await Promise.race([finished, gaveUp])
    if (reply.whenSaved) await Promise.race([reply.whenSaved, wait(state.saveWithinMs, state.source, signal)])
    return reply
  } finally {
    left.abort()
  }
}

function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals])
  return new Promise(resolve => {
    if (any.aborted) resolve()
    else any.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Finds or creates the conversation of the task, and links the dispatch to it. */
async function openConversation(
  state: DispatcherState,
  { task, dispatch, claim }: ClaimedDispatch,
  { id, model }: DispatchAgent & { readonly id: string },
  { worker }: RunOptions,
): Promise<BranchInConversation> {
  const { store, tasks, source } = state
  const metadata = { agent_id: id, provider_id: resolveModel(model, 'model').id }
  const facts = { metadata, expiry: state.expiry, now: source.now() }
  const place = await taskConversation(store, task, dispatch, facts)
  const { id: conversation } = place.conversation
  if (dispatch.conversationId !== conversation) await tasks.linkDispatch(claim, conversation)
  const waited = queuedMsOf(dispatch)
  const data = { task: task.id, n: dispatch.n, attempt: claim.attempt, worker, queued_ms: waited }
  await store.addEvents(conversation, [{ type: 'dispatch_started', data }])
  return place
}

/** Reports a conversation that cannot be created, in the words of the origin document. */
function rethrowUncreated(error: unknown): never {
  if (error instanceof ExpiredError) throw error
  throw new Error(`failed to create conversation session: ${errorText(error)}`, { cause: error })
}

/** The key of the dispatch's turn. A turn that stopped early cannot continue if the conversation has
 *  continued since: then the dispatch gets another turn. */
async function turnKey(
  { store }: DispatcherState,
  { conversation }: BranchInConversation,
  { n, attempts }: Dispatch,
): Promise<string> {
  const key = `dispatch:${n}`
  const turn = await store.findTurn(conversation.id, key)
  if (!turn || turn.status === 'complete' || turn.status === 'open') return key
  const { items } = await store.listTurns(conversation.id, { order: 'descending', limit: 1 })
  return items[0]?.key === key ? key : `${key}:${attempts}`
}

/** The outcome with the usage of all attempts: earlier ones are stored in the turns of the dispatch. What
 *  cannot be read, or was not stored yet, is counted by this attempt. */
async function withAllUsage(
  { store }: DispatcherState,
  { dispatch, claim }: ClaimedDispatch,
  outcome: TurnOutcome,
): Promise<TurnOutcome> {
  const { place, reply, usage } = outcome
  if (!place || claim.attempt === 1 || reply?.saved === false) return outcome
  const key = `dispatch:${dispatch.n}`
  const keys = [key, ...Array.from({ length: claim.attempt }, (_, i) => `${key}:${i + 1}`)]
  try {
    const turns = await Promise.all(keys.map(one => store.findTurn(place.conversation.id, one)))
    const all = turns.reduce((sum: Usage, turn) => addUsage(sum, turn?.usage ?? {}), {})
    return { ...outcome, usage: tokensOf(all) > tokensOf(usage) ? all : usage }
  } catch {
    return outcome
  }
}

function tokensOf({ input, output }: Usage): number {
  return (input ?? 0) + (output ?? 0)
}

function resultOf(
  { source }: DispatcherState,
  { task, dispatch }: ClaimedDispatch,
  { place, agentId, reply, usage }: TurnOutcome,
  failure: string | null,
  worker: string,
): DispatchResult {
  return {
    task_id: task.id,
    dispatch: dispatch.n,
    worker_id: worker,
    agent_id: agentId,
    conversation_id: place?.conversation.id ?? null,
    response: reply?.text ?? '',
    tokens_used: tokensOf(usage),
    completed_at: new Date(source.now()).toISOString(),
    success: failure === null,
    ...(failure === null ? {} : { error: failure }),
    saved: reply?.saved ?? true,
  }
}

/** Most characters of an error that are stored. */
const mostError = 4_000

function endOf(status: 'cancelled' | null, result: DispatchResult, failure: string | null): DispatchEnd {
  if (failure === null) return { status: 'done', result }
  const error = failure.replaceAll('\0', '\uFFFD').toWellFormed().slice(0, mostError).toWellFormed()
  return { status: status ?? 'failed', result: { ...result, error }, error }
}

/** The trace of the end is not essential: it is tried once. */
async function traceEnd(
  { store }: DispatcherState,
  { place }: TurnOutcome,
  { task, n, status, attempts }: Dispatch,
  figures: { readonly ran_ms: number; readonly first_word_ms: number | null; readonly tokens: number },
  trouble: (error: unknown) => void,
): Promise<void> {
  if (!place) return
  const data = { task, n, status, attempt: attempts, ...figures }
  await store.addEvents(place.conversation.id, [{ type: 'dispatch_ended', data }]).catch(trouble)
}
