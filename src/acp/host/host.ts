import type { Agent } from '../../agent/agent.ts'
import type { ResolvedTarget, Target } from '../../agent/history/history.ts'
import { storedHistory } from '../../agent/history/stored-history.ts'
import type { SendOptions } from '../../agent/options.ts'
import type { AgentEvent, Reply } from '../../agent/run/events.ts'
import { type Run, startRun } from '../../agent/run/run.ts'
import type { BranchRef } from '../../core/branch.ts'
import { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import { createSerialQueue } from '../../core/wait.ts'
import { takeOver } from '../../recorder/take-over.ts'
import { savedWithin } from '../../recorder/waiting-turns.ts'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import { defaultInjection } from '../memory/history-text.ts'
import type { MemoryOutcome, MemoryReport } from '../memory/memory-report.ts'
import type { AgentCommand, StartAgent } from '../process/agent-process.ts'
import { createSeat, type Seat } from '../seat/seat.ts'
import type { SeatStore } from '../seat/seat-prompt.ts'
import { hear } from '../transcript/hear.ts'
import { agentName } from './agent-name.ts'
import { createHostAgent, type HostedSeat } from './host-agent.ts'
import { type AskPermission, refusePermission } from './permission.ts'
import { retryPrompt, runPrompt } from './run-prompt.ts'

export interface HostOptions {
  readonly store: SeatStore
  /** The agent, as it is typed: `copilot --acp --stdio`. */
  readonly command: AgentCommand
  /** What its sessions are remembered under; its command's name unless given. */
  readonly name?: string
  /** Where it works; the process's own directory unless given. */
  readonly directory?: string
  readonly mcpServers?: readonly JsonObject[]
  /** How many messages an agent is told that does not know the conversation: 30 unless given, 50 at most. */
  readonly tell?: number
  /** Decides what the agent may do; unless given, nothing that it asks for. */
  readonly onPermission?: AskPermission
  /** What the agent writes to its stderr. */
  readonly onStderr?: (text: string) => void
  readonly start?: StartAgent
  readonly source?: RecorderSource
}

export interface HostSendOptions extends SendOptions {
  /** What the agent is told if it has to be told, instead of what is stored. */
  readonly history?: readonly NewMessage[]
}

/** The client side of the protocol: an agent of another program, whose conversations live in our store. It is
 *  an Agent like our own: whoever talks to one can talk to the other. */
export interface Host extends Agent {
  send(target: Target, words: string | NewMessage, options?: HostSendOptions): Run
  ask(target: Target, words: string | NewMessage, options?: HostSendOptions): Promise<Reply>
  /** Starts the agent's process ahead of the first message, for agents that take their time. If it cannot be
   *  started, that message says so. */
  wake(): void
  /** Starts the agent and gives it back its memory of this conversation, in the same way as the first message
   *  would. */
  start(target: Target): Promise<MemoryReport>
  /** True until something was said in the agent's present session, and where nobody has talked yet. */
  isFirstMessage(target: Target): Promise<boolean>
  /** True if the agent's own session was taken up again; false if a new one began, and where nothing is
   *  known. */
  wasResumed(target: Target): Promise<boolean>
  /** How often each way of remembering was taken. */
  outcomes(): Readonly<Record<MemoryOutcome, number>>
}

interface Hosted extends HostedSeat {
  readonly branch: BranchRef
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
  const { store, command, source = systemRecorderSource, onPermission = refusePermission } = options
  const name = options.name ?? agentName(command)
  const directory = options.directory ?? process.cwd()
  const journal = storedHistory(store, { prompt: null, model: name })
  const seats = new Map<string, Hosted>()
  const bySession = new Map<string, Hosted>()
  const outcomes: Record<MemoryOutcome, number> = {
    resumed: 0,
    loaded: 0,
    completed: 0,
    injected: 0,
    fresh: 0,
  }
  const running = new Set<Run>()
  /** Messages are taken in the order they were sent, also while their conversation is still being looked
   *  up. */
  const entering = createSerialQueue()
  let closed = false
  /** Updates of a session whose id the agent has just made, and we are about to learn. */
  const unmatchedUpdates: { readonly sessionId: string; readonly update: unknown }[] = []

  const agent = createHostAgent({
    command: { cwd: directory, ...command },
    ...(options.start ? { start: options.start } : {}),
    ...(options.onStderr ? { onStderr: options.onStderr } : {}),
    onPermission,
    seatOf: sessionId => bySession.get(sessionId),
    onUpdate,
    onEnd() {
      bySession.clear()
      unmatchedUpdates.length = 0
      for (const { seat } of seats.values()) seat.vacate()
    },
  })

  function onUpdate(sessionId: string, update: unknown): void {
    const hosted = bySession.get(sessionId)
    if (hosted) hosted.seat.hear(hear(update))
    else if ([...seats.values()].some(({ seat }) => seat.isSitting))
      unmatchedUpdates.push({ sessionId, update })
  }

  function enter(target: Target, otherwise: 'make' | 'find'): Promise<Hosted> {
    return entering(() => hostedAt(target, otherwise))
  }

  /** The seat of a conversation, if anybody has talked there. */
  async function seatOf(target: Target): Promise<Seat | null> {
    try {
      const { branch } = await journal.resolve(target, 'find')
      return seats.get(idOf(branch!))?.seat ?? null
    } catch (error) {
      if (error instanceof NotFoundError) return null
      throw error
    }
  }

  async function hostedAt(target: Target, otherwise: 'make' | 'find'): Promise<Hosted> {
    const { branch } = (await journal.resolve(target, otherwise)) as ResolvedTarget & { branch: BranchRef }
    const id = idOf(branch)
    const known = seats.get(id)
    if (known) return known
    // A dead process may have left half an answer.
    await takeOver(store, branch.conversationId, branch.name, source)
    const hosted: Hosted = seats.get(id) ?? { branch, seat: seatOn(branch, () => hosted), emit: null }
    seats.set(id, hosted)
    return hosted
  }

  function seatOn(branch: BranchRef, hosted: () => Hosted): Seat {
    return createSeat({
      store,
      source,
      agent: name,
      directory,
      params: { cwd: directory, mcpServers: (options.mcpServers ?? []) as Json },
      limits: { messages: options.tell ?? defaultInjection.messages },
      branch: async () => branch,
      start: agent.ready,
      onSession(sessionId) {
        // What an agent still says in a session that was left is nobody's.
        for (const [id, one] of bySession) if (one === hosted()) bySession.delete(id)
        bySession.set(sessionId, hosted())
        const mine = unmatchedUpdates.filter(unmatched => unmatched.sessionId === sessionId)
        unmatchedUpdates.splice(
          0,
          unmatchedUpdates.length,
          ...unmatchedUpdates.filter(unmatched => unmatched.sessionId !== sessionId),
        )
        for (const { update } of mine) onUpdate(sessionId, update)
      },
    })
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
    const message = typeof words === 'string' ? ({ role: 'user', blocks: words } as const) : words
    return run(sending.signal, async (emit, signal) => {
      const hosted = await enter(target, 'make')
      const onTurn = () => {
        hosted.emit = emit
      }
      const run = { words: [message], content: message, sending, emit, signal, onTurn }
      return runPrompt(context, hosted.seat, run)
    })
  }

  async function close({ withinMs = 30_000 } = {}): Promise<void> {
    closed = true
    agent.close()
    for (const one of running) one.abort(new DOMException('closing', 'AbortError'))
    const over = Promise.allSettled([...running].map(one => one.result()))
    // One that does not stop when it is asked to is ended in the middle of it.
    const late = Promise.withResolvers<void>()
    const callOff = source.after(patienceMs, late.resolve)
    await Promise.race([over, late.promise])
    callOff()
    const ended = agent.end()
    await over
    await Promise.allSettled([...seats.values()].map(({ seat }) => seat.idle()))
    await ended
    await savedWithin(store, withinMs)
    // What was saved last may have moved a link.
    await Promise.allSettled([...seats.values()].map(({ seat }) => seat.idle()))
  }

  return {
    send,
    ask: (target, words, sending) => send(target, words, sending).result(),
    resume: (target, sending = {}) =>
      run(sending.signal, async (emit: (event: AgentEvent) => void, signal) => {
        const hosted = await enter(target, 'find')
        const again = await retryPrompt(store, hosted.branch)
        const onTurn = () => {
          hosted.emit = emit
        }
        return runPrompt(context, hosted.seat, { ...again, words: [], sending, emit, signal, onTurn })
      }),
    wake() {
      if (!closed) agent.ready().catch(() => undefined)
    },
    async start(target) {
      const { seat } = await enter(target, 'make')
      await seat.sit()
      return seat.memory()
    },
    isFirstMessage: async target => (await seatOf(target))?.isFirstMessage ?? true,
    wasResumed: async target => (await seatOf(target))?.wasResumed ?? false,
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
