import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { BranchRef } from '../../core/branch.ts'
import { BusyError, checkNotOwned, UnavailableError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import { isNonEmpty, type NewMessage } from '../../core/message.ts'
import { languageModelName } from '../../models/language-model.ts'
import { beginTurn } from '../../recorder/begin-turn.ts'
import { keepToolResults } from '../../recorder/keep-tool-results.ts'
import type { BeginTurn, Trouble, TurnRecording, TurnReport } from '../../recorder/recording.ts'
import { takeOver } from '../../recorder/take-over.ts'
import { waitingTurn } from '../../recorder/waiting-turns.ts'
import type { RecorderSource } from '../../system/source.ts'
import { alignPrompt, type FingerprintedPrompt, fingerprintPrompt, splitAtQuestion } from './align-prompt.ts'
import { isDenied, type RecordToStore, storeDenials } from './approved-calls.ts'
import { type ConversationState, conversationState, putNewest } from './conversation-state.ts'
import { type ExchangeRecording, type ExchangeTimeouts, recordExchange } from './exchange-recording.ts'
import { type AwaitedCalls, createExchangeTools, type ToolCallName } from './exchange-tools.ts'
import { findPosition, keyOfBranch, newestBranch, type PromptPosition } from './find-position.ts'
import type { Fingerprint } from './fingerprint.ts'
import { readPrompt } from './read-prompt.ts'
import type { ToolWatcher } from './watch-tools.ts'

/** A call that was recorded on another branch than the given one. `edited`: one of its messages differs from
 *  the stored one. `earlier`: it repeats a question that has an answer. `unknown`: none of its messages is
 *  stored; it begins a new root. `busy`: the turn of another process holds the branch, or has moved it. */
export interface ForkedCall {
  /** Why the given branch could not be continued. */
  readonly why: 'edited' | 'earlier' | 'unknown' | 'busy'
  /** The given branch. */
  readonly from: BranchRef
  /** The last message that both branches have; null if there is none. */
  readonly at: MessageId | null
}

/** The options of `recordTo` for exchanges, with their defaults. */
interface ExchangeOptions {
  readonly onBusy: NonNullable<BeginTurn['onBusy']>
  readonly onFork?: (fork: ForkedCall) => void
  readonly onTrouble?: (trouble: Trouble) => void
  readonly mode?: NonNullable<BeginTurn['mode']>
  readonly timeouts: ExchangeTimeouts
}

/** A call of a model that is being recorded. */
export interface RecordedCall {
  readonly recording: ExchangeRecording
  /** The model that is called, by its provider's name. */
  readonly model: string
  /** Registers tool calls of the answer, and returns those whose results are awaited. */
  readonly expect: (calls: readonly ToolCallName[]) => AwaitedCalls
}

/** The exchanges of one recorder. */
export interface Exchanges {
  /** Finds or begins the exchange of a call, and stores the new messages of its prompt. Null if storage
   *  failed: the next call brings the same messages again. */
  enter(params: LanguageModelV4CallOptions, model: LanguageModelV4): Promise<RecordedCall | null>
  readonly tools: ToolWatcher
  place(): Promise<BranchRef>
  /** The same as `place`, after the turns of dead processes have been ended. */
  settled(): Promise<BranchRef>
  end(): Promise<readonly TurnReport[]>
}

export function createExchanges(
  store: RecordToStore,
  findHome: () => Promise<BranchRef>,
  source: RecorderSource,
  options: ExchangeOptions,
): Exchanges {
  /** The exchanges that this recorder has begun or continued, and that have not ended. */
  const own = new Set<ExchangeRecording>()
  let home: BranchRef | null = null
  let newest: { readonly branch: BranchRef } | null = null
  let lastSystem: string | null = null
  const tools = createExchangeTools(store, source, {
    place: settled,
    state: currentState,
    record(turn, known, state, awaits) {
      const recording = keep(turn, known, state, undefined, awaits)
      newest = recording
      return recording
    },
    async begin() {
      return {
        moveKey: await keyHere(),
        ...(options.onTrouble !== undefined && { onTrouble: options.onTrouble }),
      }
    },
    guard,
  })

  return {
    enter,
    tools: tools.watcher,
    place,
    settled,
    end,
  }

  async function currentState(): Promise<ConversationState> {
    return conversationState(store, (home ?? (await findHome())).conversationId)
  }

  async function place(): Promise<BranchRef> {
    return newest?.branch ?? newestBranch(store, await findHome())
  }

  /** Resolves the given key or branch for each call. It stays the same until the call has its answer. */
  async function refreshHome(): Promise<BranchRef> {
    const found = await findHome().catch((error: unknown) => {
      // Storage is unavailable: the caller most likely means the same conversation as before.
      if (home && error instanceof UnavailableError) return home
      throw error
    })
    await checkWritable(found)
    if (newest?.branch.conversationId !== found.conversationId) newest = null
    home = found
    return found
  }

  /** Refuses a conversation of another program. Failing storage does not fail the call here: it is reported
   *  where the call is stored. */
  async function checkWritable({ conversationId }: BranchRef): Promise<void> {
    const conversation = await store.getConversation(conversationId).catch(() => null)
    if (conversation) checkNotOwned(conversation)
  }

  /** Failing storage does not fail the call here: the active branch follows then, once it can be written. */
  async function keyHere(): Promise<NonNullable<BeginTurn['moveKey']>> {
    return keyOfBranch(store, home ?? (await findHome())).catch(() => ({ key: null, from: '' }))
  }

  async function settled(): Promise<BranchRef> {
    const ref = await place()
    const { owner } = await store.getConversation(ref.conversationId)
    if (owner === null) await takeOver(store, ref.conversationId, undefined, source)
    return place()
  }

  async function end(): Promise<readonly TurnReport[]> {
    await tools.idle()
    return Promise.all([...own].filter(one => one.state !== 'ended').map(one => one.end()))
  }

  async function enter(
    params: LanguageModelV4CallOptions,
    model: LanguageModelV4,
  ): Promise<RecordedCall | null> {
    const home = await refreshHome()
    const state = await currentState()
    const signal = params.abortSignal
    const { system, messages } = readPrompt(params.prompt)
    tools.checkResults(messages)
    try {
      if (tools.canAsk) await storeDenials(store, home.conversationId, messages)
      const prompt = fingerprintPrompt(messages)
      const open = openExchangeFor(prompt, state)
      const recording = open
        ? await next(open.recording, open.fresh)
        : await begin((await endedExchangeFor(prompt, state)) ?? (await search(home, prompt)))
      for (const one of own) if (one.state === 'ended') own.delete(one)
      own.add(recording)
      newest = recording
      await savePrompt(home, system)
      return { recording, model: model.modelId, expect: calls => tools.expect(calls, recording, state) }

      async function next(
        recording: ExchangeRecording,
        fresh: readonly NewMessage[],
      ): Promise<ExchangeRecording> {
        const { before, words, asked } = splitAtQuestion(fresh)
        const { status } = recording
        await recording.nextCall(asked ? before : fresh, signal)
        if (!asked) return recording
        const { saved, branch, head, whenSaved } = await recording.end(status)
        const position =
          saved || whenSaved
            ? { branch, head, fresh: words, found: 'end' as const }
            : await findPosition(store, branch, home, prompt)
        return begin(position)
      }

      async function begin(position: PromptPosition): Promise<ExchangeRecording> {
        const at = await storeHistory(position)
        // Results of denied calls continue the turn that asked for them.
        const continues = tools.canAsk && at.fresh.some(isDenied)
        const turn = await beginOrFork(at.branch, state, {
          words: continues ? [] : at.fresh,
          expectedHead: at.head,
          onMoved: 'fork',
          onBusy: options.onBusy,
          moveKey: await keyHere(),
          model: languageModelName(model),
          ...(system !== null && { prompt: system }),
          ...(options.mode !== undefined && { mode: options.mode }),
          ...(options.onTrouble !== undefined && { onTrouble: options.onTrouble }),
          ...(signal !== undefined && { signal }),
        })
        if (continues) await guard(() => turn.add(at.fresh))
        const recording = keep(turn, prompt.fingerprints, state, signal)
        await reportFork(position, turn)
        return recording
      }
    } catch (error) {
      if (signal?.aborted || (error instanceof BusyError && options.onBusy === 'refuse')) throw error
      reportLost(error)
      return null
    }
  }

  /** Waits a moment for a turn of another process, which may be about to end, and forks after that. A turn of
   *  this process is in the middle of an answer, so the call forks at once. */
  async function beginOrFork(
    branch: BranchRef,
    { open, claimed }: ConversationState,
    begin: BeginTurn,
  ): Promise<TurnRecording> {
    const isOurs = claimed.has(branch.name) || [...open].some(one => one.branch.name === branch.name)
    if (begin.onBusy !== 'fork' || isOurs) return beginTurn(store, branch, begin, source)
    claimed.add(branch.name)
    const waited = new AbortController()
    const cancel = source.after(options.timeouts.busyMs, () => waited.abort())
    const signal = AbortSignal.any([waited.signal, ...(begin.signal ? [begin.signal] : [])])
    try {
      return await beginTurn(store, branch, { ...begin, onBusy: 'wait', signal }, source)
    } catch (error) {
      if (!waited.signal.aborted || begin.signal?.aborted) throw error
      return await beginTurn(store, branch, begin, source)
    } finally {
      cancel()
      claimed.delete(branch.name)
    }
  }

  /** Searches the stored branches. The turns of dead processes are ended before, so that the drafts of their
   *  answers become messages: the caller may have received those words. */
  async function search(home: BranchRef, prompt: FingerprintedPrompt): Promise<PromptPosition> {
    await takeOver(store, home.conversationId, undefined, source)
    return findPosition(store, await place(), home, prompt)
  }

  /** The open exchange whose next call this is: the prompt contains everything that the exchange knows. */
  function openExchangeFor(
    prompt: FingerprintedPrompt,
    { open }: ConversationState,
  ): { readonly recording: ExchangeRecording; readonly fresh: readonly NewMessage[] } | null {
    for (const recording of [...open].reverse()) {
      if (recording.state !== 'waiting') continue
      const { fit, shared, fresh } = alignPrompt(prompt, recording.known, true)
      if (fit === 'end' && shared > 0) return { recording, fresh }
    }
    return null
  }

  /** The end of an exchange that the prompt continues, if its branch has not moved since. */
  async function endedExchangeFor(
    prompt: FingerprintedPrompt,
    { ended }: ConversationState,
  ): Promise<PromptPosition | null> {
    for (const { branch, head, known, isWaiting } of [...ended.values()].reverse()) {
      const { fit, shared, fresh } = alignPrompt(prompt, known, true)
      if (fit !== 'end' || shared === 0) continue
      if (isWaiting || (await store.getBranch(branch)).head === head)
        return { branch, head, fresh, found: 'end' }
    }
    return null
  }

  /** Stores the new messages before the question. They are history and do not belong to the turn. */
  async function storeHistory(position: PromptPosition): Promise<PromptPosition> {
    const { before, words } = splitAtQuestion(position.fresh)
    // After an exchange that waits to be stored, only the turn can queue more messages.
    if (!isNonEmpty(before) || waitingTurn(store, position.branch)) return position
    try {
      const { toolResults } = await store.getConversation(position.branch.conversationId)
      const kept = before.map(message => keepToolResults(message, toolResults)) as [NewMessage]
      const { branch, head } = await store.append(position.branch, position.head, kept, {
        onConflict: 'fork',
        moveKey: (await keyHere()).key,
      })
      return { ...position, branch, head, fresh: words }
    } catch {
      // The turn will meet the same error, and can queue its writes.
      return position
    }
  }

  async function reportFork({ found, branch, head }: PromptPosition, turn: TurnRecording): Promise<void> {
    const why = found === 'end' ? (turn.forked ? 'busy' : null) : found
    if (why === null) return
    options.onFork?.({ why, from: branch, at: head })
    const outcome = why === 'unknown' ? 'fresh' : 'beside'
    await guard(() => turn.trace([{ type: 'resume', data: { outcome, why, from: branch.name, at: head } }]))
  }

  function keep(
    turn: TurnRecording,
    given: readonly Fingerprint[],
    { open, ended }: ConversationState,
    signal?: AbortSignal,
    awaits?: readonly string[],
  ): ExchangeRecording {
    const recording: ExchangeRecording = recordExchange(turn, given, {
      ...{ signal, source, guard, timeouts: options.timeouts },
      ...(awaits !== undefined && { awaits }),
      async ended(report) {
        open.delete(recording)
        own.delete(recording)
        noteEnd(report)
      },
    })
    open.add(recording)
    own.add(recording)
    return recording

    function noteEnd({ saved, branch, head, whenSaved }: TurnReport): void {
      ended.delete(branch.name)
      if (!saved && !whenSaved) return
      const end = { branch, head, known: recording.known, isWaiting: whenSaved !== undefined }
      putNewest(ended, branch.name, end, 16)
      void whenSaved?.then(final => {
        if (ended.get(branch.name) === end) noteEnd(final)
      })
    }
  }

  /** Saves the system prompt, which belongs to the conversation and not to the tree of messages. */
  async function savePrompt({ conversationId }: BranchRef, system: string | null): Promise<void> {
    if (system === null || system === lastSystem) return
    lastSystem = system
    await guard(async () => {
      const { prompt, promptPolicy } = await store.getConversation(conversationId)
      if (prompt?.text === system || (prompt !== null && promptPolicy !== 'rebuild')) return
      await store.updateConversation(conversationId, { prompt: system })
    })
  }

  async function guard(write: () => Promise<unknown>): Promise<void> {
    try {
      await write()
    } catch (error) {
      reportLost(error)
    }
  }

  function reportLost(error: unknown): void {
    options.onTrouble?.({ kind: 'lost', error, waiting: 0 })
  }
}
