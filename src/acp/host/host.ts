import type { Agent } from '../../agent/agent.ts'
import { type ResolvedTarget, systemPromptOf, type Target } from '../../agent/history/history.ts'
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
import type { MemoryOutcome, MemoryReport } from '../memory/memory-report.ts'
import type { AgentCommand } from '../process/agent-process.ts'
import type { HandOverSummaries } from '../seat/hand-over.ts'
import type { RecallCommand } from '../seat/recall-server.ts'
import { createSeat, type Seat } from '../seat/seat.ts'
import type { SeatStore } from '../seat/seat-prompt.ts'
import { openTranscripts } from '../seat/transcript-file.ts'
import { hear } from '../transcript/hear.ts'
import { agentName } from './agent-name.ts'
import { createHostAgent, type HostedSeat } from './host-agent.ts'
import { type AskPermission, refusePermission } from './permission.ts'
import { retryPrompt, runPrompt } from './run-prompt.ts'

/** The agent of a host, and where its conversations are stored. */
export interface HostOptions {
  /** Stays open: the host does not close it. */
  readonly store: SeatStore
  /** The agent's command: `copilot --acp --stdio`. */
  readonly command: AgentCommand
  /** The name under which its sessions are stored. Default: the name of its command. */
  readonly name?: string
  /** The system prompt, stored as the prompt of the conversation. The agent gets it as the first block of the
   *  first prompt of each new session. A conversation with the policy `stored` keeps its own. */
  readonly system?: string
  /** The agent's working directory. Default: the current one. */
  readonly directory?: string
  /** MCP servers for the agent, as in `session/new`. Default: none. */
  readonly mcpServers?: readonly JsonObject[]
  /** Most tokens to inject into a session that does not know the conversation. Default: 24,000. */
  readonly tell?: number
  /** Summaries for the next agent of a conversation. Default: none, because each one costs a model call. */
  readonly summaries?: HandOverSummaries
  /** The command of `skein mcp` on the same store, without a conversation. An agent that has to be told a
   *  conversation gets it as an MCP server that reads this conversation only. Default: none. */
  readonly recall?: RecallCommand
  /** Answers the agent's permission requests. Default: `refusePermission`. */
  readonly onPermission?: AskPermission
  /** Receives the agent's stderr. */
  readonly onStderr?: (text: string) => void
  /** Clock, ids and timers. Default: those of the system. */
  readonly source?: RecorderSource
}

/** Options of one message. */
export interface HostSendOptions extends SendOptions {
  /** Injected instead of the stored history, if the agent needs one. */
  readonly history?: readonly NewMessage[]
}

/** The client side of the protocol: another program's agent, with its conversations in our store. It
 *  implements Agent, so it can replace one of ours. */
export interface Host extends Agent {
  /** Sends a message, and returns the run of its turn. */
  send(target: Target, words: string | NewMessage, options?: HostSendOptions): Run
  /** The same, and waits for the reply. */
  ask(target: Target, words: string | NewMessage, options?: HostSendOptions): Promise<Reply>
  /** Starts the agent's process ahead of the first message, for agents that start slowly. If that fails, the
   *  first message reports it. */
  wake(): void
  /** Starts the agent and restores its memory of this conversation, as the first message would. */
  start(target: Target): Promise<MemoryReport>
  /** True until the agent has been prompted in its current session, and for an unknown conversation. */
  isFirstMessage(target: Target): Promise<boolean>
  /** True if the agent's session was resumed or loaded; false if it is new, and for an unknown
   *  conversation. */
  wasResumed(target: Target): Promise<boolean>
  /** How often each outcome occurred. */
  outcomes(): Readonly<Record<MemoryOutcome, number>>
}

interface Hosted extends HostedSeat {
  readonly branch: BranchRef
  readonly system: string | null
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
  const history = storedHistory(store, { prompt: options.system ?? null, model: name })
  const transcripts = openTranscripts({ store, directory })
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
  /** Messages are taken in the order of the calls, also while their conversations are being resolved. */
  const entering = createSerialQueue()
  let closed = false
  /** Updates of a session whose id the agent has just created, and we do not know yet. */
  const unmatchedUpdates: { readonly sessionId: string; readonly update: unknown }[] = []

  const agent = createHostAgent({
    command: { cwd: directory, ...command },
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

  /** The seat of a conversation; null if it has none yet. */
  async function seatOf(target: Target): Promise<Seat | null> {
    try {
      const { branch } = await history.resolve(target, 'find')
      return seats.get(idOf(branch!))?.seat ?? null
    } catch (error) {
      if (error instanceof NotFoundError) return null
      throw error
    }
  }

  async function hostedAt(target: Target, otherwise: 'make' | 'find'): Promise<Hosted> {
    const resolved = await history.resolve(target, otherwise)
    const { branch } = resolved as ResolvedTarget & { branch: BranchRef }
    const system = systemPromptOf(resolved, options.system ?? null)
    const id = idOf(branch)
    const known = seats.get(id)
    if (known) return known
    // A process that died may have left a part of an answer.
    await takeOver(store, branch.conversationId, branch.name, source)
    const hosted: Hosted = seats.get(id) ?? {
      branch,
      system,
      seat: seatOn(branch, () => hosted),
      emit: null,
    }
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
    const message = typeof words === 'string' ? ({ role: 'user', content: words } as const) : words
    return run(sending.signal, async (emit, signal) => {
      const hosted = await enter(target, 'make')
      const onTurn = () => {
        hosted.emit = emit
      }
      const { system } = hosted
      const run = { words: [message], content: message, system, sending, emit, signal, onTurn }
      return runPrompt(context, hosted.seat, run)
    })
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
        const onTurn = () => {
          hosted.emit = emit
        }
        const { system } = hosted
        const run = { ...again, words: [], system, sending, emit, signal, onTurn }
        return runPrompt(context, hosted.seat, run)
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
