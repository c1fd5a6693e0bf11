import { type ResolvedTarget, systemPromptOf, type Target } from '../../agent/history/history.ts'
import { storedHistory } from '../../agent/history/stored-history.ts'
import type { AgentEvent } from '../../agent/run/events.ts'
import { type Run, startRun } from '../../agent/run/run.ts'
import type { BranchRef } from '../../core/branch.ts'
import { checkMethod, checkObject } from '../../core/check.ts'
import { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { createSerialQueue } from '../../core/wait.ts'
import { takeOver } from '../../recorder/take-over.ts'
import { savedWithin } from '../../recorder/waiting-turns.ts'
import { systemRecorderSource } from '../../system/source.ts'
import type { MemoryOutcome, MemoryReport } from '../memory/memory-report.ts'
import type { AgentCapabilities } from '../process/agent-process-slot.ts'
import { createSeat, type Seat } from '../seat/seat.ts'
import { openTranscripts } from '../seat/transcript-file.ts'
import { hear } from '../transcript/hear.ts'
import { isObject } from '../wire/is-object.ts'
import { agentName } from './agent-name.ts'
import type { AgentOffer } from './agent-settings.ts'
import { createHostAgent, type HostedSeat } from './host-agent.ts'
import type { Host, HostOptions } from './host-options.ts'
import {
  type ChosenSettings,
  createHostSettings,
  type HostSettings,
  readChosen,
  writeChosen,
} from './host-settings.ts'
import { createOfferedWork } from './offered-work.ts'
import { refusePermission } from './permission.ts'
import { retryPrompt, runPrompt } from './run-prompt.ts'

interface Hosted extends HostedSeat {
  readonly system: string | null
  settings: HostSettings
}

/** A session that no conversation uses yet. */
interface SpareSession {
  readonly sessionId: string
  readonly settings: HostSettings
  readonly owner: SettingsOwner
}

/** The conversation that settings belong to; none yet for a spare session. */
interface SettingsOwner {
  hosted?: Hosted
}

/** Keeps the conversations of an agent of the Agent Client Protocol in a store. The agent starts with the
 *  first message; a conversation that its process does not know is resumed, loaded or injected.
 *
 * @example
 * ```ts
 * import { fileURLToPath } from 'node:url'
 * import { openStore } from 'skein'
 * import { createHost } from 'skein/acp'
 *
 * // Any agent of the Agent Client Protocol: `opencode acp`, `copilot --acp --stdio`. Ours needs no key.
 * const skein = fileURLToPath(new URL('dist/cli/skein.cjs', import.meta.resolve('skein/package.json')))
 * const command = { command: process.execPath, args: [skein, 'acp', '--db', 'agent.db'] }
 *
 * await using store = await openStore('conversations.db')
 * await using host = createHost({ store, command, name: 'ours' })
 * await host.ask('talk', 'My name is Ada.')
 * console.log((await host.ask('talk', 'What is my name?')).text) // Your name is Ada.
 * ```
 */
export function createHost(options: HostOptions): Host {
  checkObject(options, 'options')
  checkMethod(options.store, 'store', 'append', 'a store, such as openStore() returns')
  const { store, command, source = systemRecorderSource, onPermission = refusePermission } = options
  const name = options.name ?? agentName(command)
  const directory = options.directory ?? process.cwd()
  const history = storedHistory(store, { prompt: options.system ?? null, model: name })
  const transcripts = openTranscripts({ store, directory })
  const seats = new Map<string, Hosted>()
  const bySession = new Map<string, Hosted>()
  const directories = [directory, ...(options.additionalDirectories ?? [])] as const
  /** Opened for the next new conversation. */
  let spare: Promise<SpareSession> | null = null
  let spareNow: SpareSession | null = null
  const outcomes: Record<MemoryOutcome, number> = {
    resumed: 0,
    loaded: 0,
    completed: 0,
    injected: 0,
    fresh: 0,
  }
  const running = new Set<Run>()
  /** Messages are taken in the order of the calls, also while their conversations are being resolved. */
  const entering = createSerialQueue()
  const settingWrites = createSerialQueue()
  let closed = false
  /** Updates of a session whose id the agent has just created, and we do not know yet. */
  const unmatchedUpdates: { readonly sessionId: string; readonly update: unknown }[] = []

  const agent = createHostAgent({
    command: { cwd: directory, ...command },
    ...(options.onStderr ? { onStderr: options.onStderr } : {}),
    onPermission,
    ...(options.onElicitation && { onElicitation: options.onElicitation }),
    work: createOfferedWork({
      offers: options.offers ?? [],
      directories,
      ...(options.approve && { approve: options.approve }),
      ...(options.approvals && { approvals: options.approvals }),
    }),
    seatOf: sessionId => bySession.get(sessionId),
    onUpdate,
    onEnd() {
      bySession.clear()
      unmatchedUpdates.length = 0
      spare = null
      spareNow = null
      for (const { seat, settings } of seats.values()) {
        seat.vacate()
        settings.closed()
      }
    },
  })

  function onUpdate(sessionId: string, update: unknown): void {
    const hosted = bySession.get(sessionId)
    if (hosted) {
      hosted.settings.hear(update)
      hosted.seat.hear(hear(update))
    } else if (spareNow?.sessionId === sessionId) spareNow.settings.hear(update)
    else if (spare || [...seats.values()].some(({ seat }) => seat.isSitting))
      unmatchedUpdates.push({ sessionId, update })
  }

  /** Updates that came before the id of their session. */
  function matched(sessionId: string): void {
    const mine = unmatchedUpdates.filter(unmatched => unmatched.sessionId === sessionId)
    const others = unmatchedUpdates.filter(unmatched => unmatched.sessionId !== sessionId)
    unmatchedUpdates.splice(0, unmatchedUpdates.length, ...others)
    for (const { update } of mine) onUpdate(sessionId, update)
  }

  const params = (can: AgentCapabilities): JsonObject => ({
    cwd: directory,
    mcpServers: (options.mcpServers ?? []) as Json,
    ...(can.additionalDirectories &&
      directories.length > 1 && { additionalDirectories: directories.slice(1) }),
  })

  /** Opens a session without a conversation: nothing is stored before the first message. */
  function openSpare(): Promise<SpareSession> {
    spare ??= beginSpare().catch((error: unknown) => {
      spare = null
      throw error
    })
    return spare
  }

  async function beginSpare(): Promise<SpareSession> {
    const running = await agent.ready()
    const answer = await running.request('session/new', params(running.capabilities))
    if (!isObject(answer) || typeof answer.sessionId !== 'string')
      throw new Error('the agent began a session without an id')
    const { sessionId } = answer
    const owner: SettingsOwner = {}
    const settings = settingsFor(new Map(), owner)
    spareNow = { sessionId, settings, owner }
    matched(sessionId)
    await settings.opened(running, sessionId, answer)
    return spareNow
  }

  function settingsFor(chosen: ChosenSettings, owner: SettingsOwner): HostSettings {
    return createHostSettings({
      wanted: options.settings ?? {},
      chosen,
      onChange(change) {
        const emit = owner.hosted?.emit
        if (emit) emit({ type: 'setting', ...change })
        else options.onSetting?.(change)
      },
      onChosen() {
        if (owner.hosted) keepChosen(owner.hosted.branch, chosen)
      },
    })
  }

  /** In the background. A choice that cannot be stored holds for this process. */
  function keepChosen({ conversationId }: BranchRef, chosen: ChosenSettings): void {
    settingWrites(() => writeChosen(store, conversationId, name, chosen)).catch(() => undefined)
  }

  function enter(target: Target, otherwise: 'make' | 'find'): Promise<Hosted> {
    return entering(() => hostedAt(target, otherwise))
  }

  /** A conversation that has a seat; null if it has none yet. */
  async function find(target: Target): Promise<Hosted | null> {
    try {
      const { branch } = await history.resolve(target, 'find', null)
      return seats.get(idOf(branch!)) ?? null
    } catch (error) {
      if (error instanceof NotFoundError) return null
      throw error
    }
  }

  async function hostedAt(target: Target, otherwise: 'make' | 'find'): Promise<Hosted> {
    const resolved = await history.resolve(target, otherwise, null)
    const { branch } = resolved as ResolvedTarget & { branch: BranchRef }
    const system = systemPromptOf(resolved, options.system ?? null)
    const id = idOf(branch)
    const known = seats.get(id)
    if (known) return known
    // A process that died may have left a part of an answer.
    await takeOver(store, branch.conversationId, branch.name, source)
    const chosen = await chosenIn(branch.conversationId)
    const owner: SettingsOwner = {}
    const hosted: Hosted = seats.get(id) ?? {
      branch,
      system,
      seat: seatOn(branch, () => hosted),
      settings: settingsFor(chosen, owner),
      emit: null,
      granted: new Set(),
    }
    owner.hosted = hosted
    seats.set(id, hosted)
    return hosted
  }

  /** The choices of a conversation, which its branches share. */
  async function chosenIn(id: ConversationId): Promise<ChosenSettings> {
    const sibling = [...seats.values()].find(({ branch }) => branch.conversationId === id)
    return sibling?.settings.chosen ?? readChosen(store, id, name)
  }

  /** Gives the spare session to a conversation without messages. */
  async function useSpare(hosted: Hosted): Promise<string | null> {
    const taken = await spare?.catch(() => null)
    // It may have ended with its process, or another conversation has it.
    if (!taken || taken !== spareNow || hosted.settings.chosen.size > 0) return null
    spare = null
    spareNow = null
    taken.owner.hosted = hosted
    hosted.settings = taken.settings
    if (taken.settings.chosen.size > 0) keepChosen(hosted.branch, taken.settings.chosen)
    return taken.sessionId
  }

  function seatOn(branch: BranchRef, hosted: () => Hosted): Seat {
    return createSeat({
      store,
      source,
      agent: name,
      directory,
      params,
      ...(options.tell === undefined ? {} : { tell: options.tell }),
      transcripts,
      ...(options.summaries && { summaries: options.summaries }),
      ...(options.recall && { recall: options.recall }),
      branch: async () => branch,
      start: agent.ready,
      onSilence: () => agent.restart(),
      onSession(sessionId) {
        // Updates of a session that this seat has left are dropped.
        for (const [id, one] of bySession) if (one === hosted()) bySession.delete(id)
        bySession.set(sessionId, hosted())
        matched(sessionId)
      },
      openedAhead: () => useSpare(hosted()),
      onOpened: ({ sessionId, answer }, running) => hosted().settings.opened(running, sessionId, answer),
    })
  }

  /** The conversation, with an open session. */
  async function opened(target: Target | null): Promise<HostSettings> {
    if (target === null) return (await openSpare()).settings
    const hosted = await enter(target, 'make')
    await hosted.seat.open()
    return hosted.settings
  }

  async function offerOf(settings: HostSettings): Promise<AgentOffer> {
    await settings.commandsKnown()
    return settings.offer
  }

  function run(outer: AbortSignal | undefined, work: Parameters<typeof startRun>[0]): Run {
    if (closed) throw new InvalidError('agent', 'it has been closed')
    const started = startRun(work, outer)
    running.add(started)
    const leave = () => running.delete(started)
    started.result().then(leave, leave)
    return started
  }

  const context = {
    name,
    agent,
    counted: (report: MemoryReport) => {
      outcomes[report.outcome]++
    },
  }

  const send: Host['send'] = (target, words, sending = {}) => {
    const message = typeof words === 'string' ? ({ role: 'user', content: words } as const) : words
    return run(sending.signal, async (emit, signal) => {
      const hosted = await enter(target, 'make')
      const prompt = { words: [message], content: message, system: hosted.system, sending, emit, signal }
      return inTurn(hosted, emit, onTurn => runPrompt(context, hosted.seat, { ...prompt, onTurn }))
    })
  }

  /** Connects a run with the requests of the agent in its turn. */
  async function inTurn<T>(
    hosted: Hosted,
    emit: (event: AgentEvent) => void,
    work: (onTurn: () => void) => Promise<T>,
  ): Promise<T> {
    const onTurn = () => {
      hosted.emit = emit
      hosted.granted.clear()
    }
    try {
      return await work(onTurn)
    } finally {
      if (hosted.emit === emit) hosted.emit = null
    }
  }

  async function close({ withinMs = 30_000 } = {}): Promise<void> {
    closed = true
    agent.close()
    for (const one of running) one.abort(new DOMException('closing', 'AbortError'))
    const over = Promise.allSettled([...running].map(one => one.result()))
    // A turn that does not stop in time ends with the process.
    const late = Promise.withResolvers<void>()
    const callOff = source.after(patienceMs, late.resolve)
    await Promise.race([over, late.promise])
    callOff()
    await Promise.allSettled([...seats.values()].map(({ seat }) => seat.close()))
    const ended = agent.end()
    await over
    await Promise.allSettled([...seats.values()].map(({ seat }) => seat.idle()))
    await ended
    await settingWrites(async () => undefined)
    await savedWithin(store, withinMs)
    // The last saved turn may have changed a link.
    await Promise.allSettled([...seats.values()].map(({ seat }) => seat.idle()))
  }

  return {
    send,
    ask: (target, words, sending) => send(target, words, sending).result(),
    resume: (target, sending = {}) =>
      run(sending.signal, async (emit: (event: AgentEvent) => void, signal) => {
        const hosted = await enter(target, 'find')
        const again = await retryPrompt(store, hosted.branch)
        const prompt = { ...again, words: [], system: hosted.system, sending, emit, signal }
        return inTurn(hosted, emit, onTurn => runPrompt(context, hosted.seat, { ...prompt, onTurn }))
      }),
    wake() {
      if (!closed) agent.ready().catch(() => undefined)
    },
    async start(target) {
      const { seat } = await enter(target, 'make')
      await seat.sit()
      return seat.memory()
    },
    offer: async target => offerOf(await opened(target)),
    async knownOffer(target) {
      if (target === null) return spareNow?.settings.offer ?? null
      const hosted = await find(target)
      return hosted?.seat.sessionId == null ? null : hosted.settings.offer
    },
    async set(target, setting, value) {
      const settings = await opened(target)
      await settings.set(setting, value)
      return settings.offer
    },
    isFirstMessage: async target => (await find(target))?.seat.isFirstMessage ?? true,
    wasResumed: async target => (await find(target))?.seat.wasResumed ?? false,
    outcomes: () => ({ ...outcomes }),
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

function idOf({ conversationId, name }: BranchRef): string {
  return `${conversationId}:${name}`
}

/** How long turns may take to stop when the host is closed. */
const patienceMs = 2_000
