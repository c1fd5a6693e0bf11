import type { JsonObject } from '../../core/json.ts'
import type { Peer } from '../wire/connection.ts'
import { isObject } from '../wire/is-object.ts'
import { createPeer } from '../wire/peer.ts'
import { ConnectionEnded } from '../wire/rpc-error.ts'
import type { WireLine } from '../wire/wire-line.ts'
import {
  type AgentCommand,
  type AgentProcess,
  exitReason,
  type ProcessEnd,
  type StartAgent,
} from './agent-process.ts'
import { startAgent } from './start-agent.ts'

/** The capabilities that an agent advertises, as far as its memory is concerned. They may be wrong. */
export interface AgentCapabilities {
  readonly resume: boolean
  readonly load: boolean
  readonly list: boolean
  readonly fork: boolean
  readonly delete: boolean
  readonly close: boolean
  /** Accepts a system prompt in `session/new`: the cleanest channel for a history. */
  readonly systemPrompt: boolean
  /** Accepts further directories of the project. */
  readonly additionalDirectories: boolean
}

/** An agent that is initialized and ready for requests. */
export interface RunningAgent extends Pick<Peer, 'request' | 'notify'> {
  readonly capabilities: AgentCapabilities
}

export interface AgentProcessSlotOptions {
  readonly command: AgentCommand
  readonly start?: StartAgent
  /** The parameters of `initialize`. Default: those of the client's own request (see `introduced`). */
  readonly initialize?: JsonObject
  /** How long a new process may take to answer `initialize` or `authenticate` before it is ended. Default:
   *  60,000. */
  readonly answerMs?: number
  /** A line that is not an answer to a request of ours, and the generation of the process that sent it. */
  onLine(line: WireLine, generation: number): void
  /** The process has ended, all its lines were handled, and our requests to it were rejected. */
  onEnd(end: ProcessEnd): void
  onDrain?(): void
  onStderr?(text: string): void
}

/** Holds the process of an agent, one at a time, and replaces one that has ended. Used by the host, which
 *  initializes every process, and by the proxy, whose client initializes the first one. */
export interface AgentProcessSlot {
  /** The number of the process, from 0; -1 before the first one. */
  readonly generation: number
  readonly isAlive: boolean
  /** Whether the parameters of `initialize` are known, so that a process can be replaced. */
  readonly isIntroduced: boolean
  /** The client's capabilities, from the parameters of `initialize`. */
  readonly clientCapabilities: unknown
  /** How the last process ended; null while none has. */
  readonly lastEnd: ProcessEnd | null
  /** The same, for people. */
  readonly exitMessage: string
  /** Starts a process and leaves its `initialize` to the client. */
  launch(): void
  /** The agent; without a process, one is started and initialized. Throws ConnectionEnded if it ends before
   *  it is ready, RpcError if it refuses. */
  ready(): Promise<RunningAgent>
  /** Ends a process that does not respond. The next `ready` starts another one. */
  restart(): void
  /** Sends a line; without a process, the line is dropped. */
  send(line: Buffer | string): void
  readonly unsent: number
  pause(): void
  resume(): void
  /** The client's `initialize` was answered: the next process gets the same parameters. */
  introduced(params: JsonObject, answer: unknown): void
  /** The client's `authenticate` was answered: the next process gets the same parameters. */
  signedIn(params: JsonObject): void
  /** Ends the process. Resolves when it has ended, also if it had before; with null if there never was
   *  one. */
  end(): Promise<ProcessEnd | null>
}

interface SlotProcess {
  readonly process: AgentProcess
  readonly peer: Peer
}

export function createAgentProcessSlot(options: AgentProcessSlotOptions): AgentProcessSlot {
  const { command, start = startAgent, answerMs = defaultAnswerMs } = options
  let initialize = options.initialize ?? null
  let authenticate: JsonObject | null = null
  let capabilities = readCapabilities(null)
  let generation = -1
  let current: SlotProcess | null = null
  let last: SlotProcess | null = null
  let lastEnd: ProcessEnd | null = null
  let starting: Promise<void> | null = null
  /** Resolves when a process that is being replaced has ended. */
  let leaving: PromiseWithResolvers<void> | null = null

  function launch(): SlotProcess {
    const mine = ++generation
    const process = start(command, {
      onLine(line) {
        if (!launched.peer.take(line)) options.onLine(line, mine)
      },
      onEnd: () => void ended(launched),
      onDrain: () => options.onDrain?.(),
      onStderr: text => options.onStderr?.(text),
    })
    const launched: SlotProcess = { process, peer: createPeer(process) }
    current = launched
    last = launched
    return launched
  }

  async function ended(one: SlotProcess): Promise<void> {
    const end = await one.process.ended
    lastEnd = end
    if (current === one) current = null
    leaving?.resolve()
    leaving = null
    one.peer.end(new ConnectionEnded('the agent has ended'))
    options.onEnd(end)
  }

  async function startAndInitialize(): Promise<void> {
    if (initialize === null) throw new ConnectionEnded('the agent ended before it was introduced')
    const { process, peer } = launch()
    try {
      const answer = await inTime(peer.request('initialize', initialize), process)
      capabilities = readCapabilities(answer)
    } catch (error) {
      await process.end()
      throw error
    }
    // If this is refused, the process stays: the client can still sign in.
    if (authenticate) await inTime(peer.request('authenticate', authenticate), process)
  }

  /** Ends a process that does not answer: then its requests are rejected. */
  async function inTime<T>(answer: Promise<T>, process: AgentProcess): Promise<T> {
    const timer = setTimeout(() => void process.end(), answerMs)
    try {
      return await answer
    } finally {
      clearTimeout(timer)
    }
  }

  async function ready(): Promise<RunningAgent> {
    if (leaving) await leaving.promise
    if (current === null || starting) {
      starting ??= startAndInitialize().finally(() => {
        starting = null
      })
      await starting
    }
    // If it has ended meanwhile, requests to the last one are rejected.
    const { peer } = (current ?? last)!
    return {
      capabilities,
      request: (...request) => peer.request(...request),
      notify: (...notification) => peer.notify(...notification),
    }
  }

  return {
    get generation() {
      return generation
    },
    get isAlive() {
      return current !== null && leaving === null
    },
    get isIntroduced() {
      return initialize !== null
    },
    get clientCapabilities() {
      return initialize?.clientCapabilities
    },
    get lastEnd() {
      return lastEnd
    },
    get exitMessage() {
      return `the agent has ended${lastEnd ? ` ${exitDetails(lastEnd)}` : ''}`
    },
    launch: () => void launch(),
    ready,
    restart() {
      if (!current || leaving) return
      leaving = Promise.withResolvers()
      void current.process.end()
    },
    send: line => current?.process.send(line),
    get unsent() {
      return current?.process.unsent ?? 0
    },
    pause: () => current?.process.pause(),
    resume: () => current?.process.resume(),
    introduced(params, answer) {
      initialize = params
      if (isObject(answer)) capabilities = readCapabilities(answer)
    },
    signedIn(params) {
      authenticate = params
    },
    end: async () => (last ? last.process.end() : null),
  }
}

/** How long an agent may take to answer a request that starts it or opens a session. */
export const defaultAnswerMs = 60_000

/** The exit reason and the last lines of stderr, for people. */
export function exitDetails(end: ProcessEnd): string {
  const stderr = end.stderr.trim()
  return `(${exitReason(end)})${stderr === '' ? '' : `: ${stderr}`}`
}

/** Reads the answer to `initialize`. */
export function readCapabilities(answer: unknown): AgentCapabilities {
  const capabilities = isObject(answer) ? answer.agentCapabilities : null
  const can = isObject(capabilities) ? capabilities : {}
  const session = isObject(can.sessionCapabilities) ? can.sessionCapabilities : {}
  return {
    resume: isObject(session.resume),
    load: can.loadSession === true,
    list: isObject(session.list),
    fork: isObject(session.fork),
    delete: isObject(session.delete),
    close: isObject(session.close),
    systemPrompt: isObject(session.systemPrompt),
    additionalDirectories: isObject(session.additionalDirectories),
  }
}
