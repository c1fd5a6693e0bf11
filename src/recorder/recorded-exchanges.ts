import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { BranchRef } from '../core/branch.ts'
import { BusyError, UnavailableError } from '../core/errors.ts'
import type { MessageId } from '../core/ids.ts'
import { isNonEmpty, type NewMessage } from '../core/message.ts'
import { nameOf } from '../models/language-model.ts'
import type { RecorderSource } from '../system/source.ts'
import { align, type Prompted, prompted, splitAtQuestion } from './align.ts'
import { type Face, faceOf } from './align-face.ts'
import { beginTurn } from './begin-turn.ts'
import { type Line, type LineAnswer, lineOf, type Patience } from './recorded-line.ts'
import { remember, type Shared, sharedOf } from './recorded-shared.ts'
import { findCall, findSpot, newestPlace, type Spot } from './recorded-spot.ts'
import type { ToolWatcher } from './recorded-tools.ts'
import type { BeginTurn, RecordStore, Trouble, TurnRecording, TurnReport } from './recording.ts'
import { takeOver } from './take-over.ts'
import { keepToolResults } from './tool-results.ts'
import { readPrompt } from './v4-prompt.ts'
import { waitingTurn } from './waiting-turns.ts'

/** A call went beside the branch. `edited`: one of its messages differs from what is stored. `earlier`: it
 *  asks again what has an answer. `unknown`: nothing of it is stored; it begins a new root. `busy`: the
 *  branch is another's, or has moved on. */
export interface Beside {
  readonly why: 'edited' | 'earlier' | 'unknown' | 'busy'
  readonly from: BranchRef
  /** The last message that both have; null if there is none. */
  readonly at: MessageId | null
}

export interface ExchangeOptions {
  /** Where another's turn holds the branch: go on beside it (default), wait for it, or refuse the call. */
  readonly onBusy: NonNullable<BeginTurn['onBusy']>
  /** Hears when a call goes beside the branch instead of along it. */
  readonly onBeside?: (beside: Beside) => void
  /** Hears of failing storage. The call goes on. */
  readonly onTrouble?: (trouble: Trouble) => void
  readonly mode?: NonNullable<BeginTurn['mode']>
  readonly patience: Patience
}

/** A call that is recorded. */
export interface Entered {
  readonly line: Line
  /** The model that is called, as its provider names it. */
  readonly model: string
  /** Says which calls of tools belong to it, and hears which of them it has to wait for. */
  readonly expect: (calls: readonly SeenCall[]) => Expected
}

export interface SeenCall {
  readonly callId: string
  readonly name: string
}

/** The calls whose results have to come; `soon` if all of them are run here, by tools that were wrapped. */
export type Expected = Pick<LineAnswer, 'calls' | 'soon'>

/** The exchanges that one recorder has to do with. */
export interface Exchanges {
  /** Finds or begins the exchange that a call belongs to, and stores what is new in its prompt. Null if that
   *  failed for the storage's sake: the next call brings the same messages again. */
  enter(params: LanguageModelV4CallOptions, model: LanguageModelV4): Promise<Entered | null>
  readonly tools: ToolWatcher
  place(): Promise<BranchRef>
  /** The same, after exchanges of dead processes have been ended there. */
  settled(): Promise<BranchRef>
  end(): Promise<readonly TurnReport[]>
}

export function exchanges(
  store: RecordStore,
  findHome: () => Promise<BranchRef>,
  source: RecorderSource,
  options: ExchangeOptions,
): Exchanges {
  /** The tools that were wrapped: whether they run here. */
  const wrapped = new Map<string, boolean>()
  /** The exchanges that this recorder has begun or gone on with, and that have not ended. */
  const own = new Set<Line>()
  let home: BranchRef | null = null
  let newest: { readonly branch: BranchRef } | null = null
  let lastSystem: string | null = null
  let late: Promise<void> = Promise.resolve()

  return {
    enter,
    tools: { known: (name, runs) => void wrapped.set(name, runs), started, ended },
    place,
    settled,
    end,
  }

  async function shared(): Promise<Shared> {
    return sharedOf(store, (home ?? (await findHome())).conversationId)
  }

  async function place(): Promise<BranchRef> {
    return newest?.branch ?? newestPlace(store, await findHome())
  }

  /** Where the caller named is decided with each call, and stays so until its answer has come. */
  async function goHome(): Promise<BranchRef> {
    const found = await findHome().catch((error: unknown) => {
      // The storage is away: the caller most likely means the same conversation as before.
      if (home && error instanceof UnavailableError) return home
      throw error
    })
    if (newest?.branch.conversationId !== found.conversationId) newest = null
    home = found
    return found
  }

  async function settled(): Promise<BranchRef> {
    const ref = await place()
    await takeOver(store, ref.conversationId, undefined, source)
    return place()
  }

  async function end(): Promise<readonly TurnReport[]> {
    await late
    return Promise.all([...own].filter(line => line.state !== 'ended').map(line => line.end()))
  }

  async function enter(params: LanguageModelV4CallOptions, model: LanguageModelV4): Promise<Entered | null> {
    const home = await goHome()
    const known = await shared()
    const signal = params.abortSignal
    try {
      const { system, messages } = readPrompt(params.prompt)
      const prompt = prompted(messages)
      const going = openFor(prompt, known)
      const line = going
        ? await goOn(going.line, going.fresh)
        : await begin((await leftFor(prompt, known)) ?? (await search(home, prompt)))
      for (const one of own) if (one.state === 'ended') own.delete(one)
      own.add(line)
      newest = line
      await keepPrompt(home, system)
      return { line, model: model.modelId, expect: calls => expect(calls, line, known) }

      async function goOn(line: Line, fresh: readonly NewMessage[]): Promise<Line> {
        const { before, words, asked } = splitAtQuestion(fresh)
        const { status } = line
        await line.goOn(asked ? before : fresh, signal)
        if (!asked) return line
        const { saved, branch, head, whenSaved } = await line.end(status)
        const spot =
          saved || whenSaved
            ? { branch, head, fresh: words, found: 'end' as const }
            : await findSpot(store, branch, home, prompt)
        return begin(spot)
      }

      async function begin(spot: Spot): Promise<Line> {
        const at = await settle(spot)
        const turn = await beginPolitely(at.branch, known, {
          words: at.fresh,
          expectedHead: at.head,
          onMoved: 'fork',
          onBusy: options.onBusy,
          model: nameOf(model),
          ...(system !== null && { prompt: system }),
          ...(options.mode !== undefined && { mode: options.mode }),
          ...(options.onTrouble !== undefined && { onTrouble: options.onTrouble }),
          ...(signal !== undefined && { signal }),
        })
        const line = keep(turn, prompt.faces, known, signal)
        await sayBeside(spot, turn)
        return line
      }
    } catch (error) {
      if (signal?.aborted || (error instanceof BusyError && options.onBusy === 'refuse')) throw error
      tell(error)
      return null
    }
  }

  /** A turn of another process may be about to end, so it is given a moment before one goes beside it. One of
   *  our own that holds the branch is in the middle of an answer. */
  async function beginPolitely(
    branch: BranchRef,
    { open, claimed }: Shared,
    begin: BeginTurn,
  ): Promise<TurnRecording> {
    const isOurs = claimed.has(branch.name) || [...open].some(line => line.branch.name === branch.name)
    if (begin.onBusy !== 'fork' || isOurs) return beginTurn(store, branch, begin, source)
    claimed.add(branch.name)
    const moment = new AbortController()
    const callOff = source.after(options.patience.busyMs, () => moment.abort())
    const signal = AbortSignal.any([moment.signal, ...(begin.signal ? [begin.signal] : [])])
    try {
      return await beginTurn(store, branch, { ...begin, onBusy: 'wait', signal }, source)
    } catch (error) {
      if (!moment.signal.aborted || begin.signal?.aborted) throw error
      return await beginTurn(store, branch, begin, source)
    } finally {
      callOff()
      claimed.delete(branch.name)
    }
  }

  /** What a dead process was about to say becomes a message first: the caller may have it. */
  async function search(home: BranchRef, prompt: Prompted): Promise<Spot> {
    await takeOver(store, home.conversationId, undefined, source)
    return findSpot(store, await place(), home, prompt)
  }

  /** The exchange whose next call this is: what it knows stands in the prompt, up to the last word of it. */
  function openFor(prompt: Prompted, { open }: Shared): { line: Line; fresh: readonly NewMessage[] } | null {
    for (const line of [...open].reverse()) {
      if (line.state !== 'resting') continue
      const { fit, shared, fresh } = align(prompt, line.known, true)
      if (fit === 'end' && shared > 0) return { line, fresh }
    }
    return null
  }

  /** The branch that was left just where the prompt goes on, if nobody has moved it since. */
  async function leftFor(prompt: Prompted, { left }: Shared): Promise<Spot | null> {
    for (const { branch, head, known, waits } of [...left.values()].reverse()) {
      const { fit, shared, fresh } = align(prompt, known, true)
      if (fit !== 'end' || shared === 0) continue
      if (waits || (await store.getBranch(branch)).head === head) return { branch, head, fresh, found: 'end' }
    }
    return null
  }

  /** What was said before this exchange is history, which is stored outside of its turn. */
  async function settle(spot: Spot): Promise<Spot> {
    const { before, words } = splitAtQuestion(spot.fresh)
    // Behind an exchange that still waits nothing can be stored at once: the turn takes all of it.
    if (!isNonEmpty(before) || waitingTurn(store, spot.branch)) return spot
    try {
      const { toolResults } = await store.getConversation(spot.branch.conversationId)
      const kept = before.map(message => keepToolResults(message, toolResults)) as [NewMessage]
      const { branch, head } = await store.append(spot.branch, spot.head, kept, { onConflict: 'sibling' })
      return { ...spot, branch, head, fresh: words }
    } catch {
      // Whatever it is, the turn will meet it too, and has its ways.
      return spot
    }
  }

  async function sayBeside({ found, branch, head }: Spot, turn: TurnRecording): Promise<void> {
    const why = found === 'end' ? (turn.forked ? 'busy' : null) : found
    if (why === null) return
    options.onBeside?.({ why, from: branch, at: head })
    const outcome = why === 'unknown' ? 'fresh' : 'beside'
    await guard(() => turn.trace([{ type: 'resume', data: { outcome, why, from: branch.name, at: head } }]))
  }

  function keep(
    turn: TurnRecording,
    given: readonly Face[],
    { open, left }: Shared,
    signal?: AbortSignal,
    awaits?: readonly string[],
  ): Line {
    const line: Line = lineOf(turn, given, {
      ...{ signal, source, guard, patience: options.patience },
      ...(awaits !== undefined && { awaits }),
      ended(report) {
        open.delete(line)
        own.delete(line)
        leave(report)
      },
    })
    open.add(line)
    own.add(line)
    return line

    function leave({ saved, branch, head, whenSaved }: TurnReport): void {
      left.delete(branch.name)
      if (!saved && !whenSaved) return
      const there = { branch, head, known: line.known, waits: whenSaved !== undefined }
      remember(left, branch.name, there, 16)
      void whenSaved?.then(final => {
        if (left.get(branch.name) === there) leave(final)
      })
    }
  }

  /** Which of these calls an exchange has to wait for. Tools that do not run here are the caller's to answer,
   *  whenever. */
  function expect(calls: readonly SeenCall[], line: Line, { byCall }: Shared): Expected {
    for (const { callId } of calls) remember(byCall, callId, line, 1_000)
    const awaited = calls.filter(({ name }) => wrapped.get(name) !== false)
    return {
      calls: awaited.map(({ callId }) => callId),
      soon: awaited.every(({ name }) => wrapped.get(name)),
    }
  }

  async function started(callId: string, name: string): Promise<void> {
    const { byCall } = await shared()
    await byCall.get(callId)?.toolStarted(callId, name)
  }

  async function ended(callId: string, name: string, message: NewMessage): Promise<void> {
    const known = await shared()
    if (await known.byCall.get(callId)?.toolEnded(callId, name, message)) return
    late = late.then(() => guard(() => takeLate(callId, name, message, known)))
    await late
  }

  /** A result whose exchange has ended, or was begun by another process: it goes on with the result, if
   *  nothing else has been said since. Otherwise the next call brings it. */
  async function takeLate(callId: string, name: string, message: NewMessage, known: Shared): Promise<void> {
    if (await known.byCall.get(callId)?.toolEnded(callId, name, message)) return
    const branch = known.byCall.get(callId)?.branch ?? (await place())
    const asking = await findCall(store, branch, callId)
    if (asking === null) return
    const trouble = options.onTrouble === undefined ? {} : { onTrouble: options.onTrouble }
    const begin = { words: [message], expectedHead: asking.head, ...trouble }
    const turn = await beginTurn(store, branch, begin, source)
    const line = keep(turn, [...asking.known, faceOf(message)], known, undefined, asking.others)
    for (const other of asking.others) remember(known.byCall, other, line, 1_000)
    newest = line
  }

  /** The system prompt belongs to the conversation, not into the tree. */
  async function keepPrompt({ conversationId }: BranchRef, system: string | null): Promise<void> {
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
      tell(error)
    }
  }

  function tell(error: unknown): void {
    options.onTrouble?.({ kind: 'lost', error, waiting: 0 })
  }
}
