import type { JsonObject } from '../../core/json.ts'
import { type Abilities, abilitiesOf } from '../memory/abilities.ts'
import type { SeatAgent } from '../seat/seat-agent.ts'
import {
  type AgentCommand,
  type AgentProcess,
  howEnded,
  type ProcessEnd,
  type StartAgent,
} from '../wire/agent-process.ts'
import type { Peer } from '../wire/connection.ts'
import { ConnectionEnded } from '../wire/connection-ended.ts'
import { isObject } from '../wire/is-object.ts'
import type { Line } from '../wire/line.ts'
import { createPeer } from '../wire/peer.ts'
import { startAgent } from '../wire/start-agent.ts'

export interface AgentSideOptions {
  readonly command: AgentCommand
  readonly start?: StartAgent
  /** A line that is no answer to a request of ours. */
  onLine(line: Line, generation: number): void
  onEnd(end: ProcessEnd, generation: number): void
  onDrain(): void
  onComplaint(text: string): void
}

/** The agent behind a proxy: one process after the other. The first is introduced by the client itself; one that takes the
 *  place of a dead one is introduced by us, with the client's own words. */
export interface AgentSide {
  /** Counts the processes, from 0. */
  readonly generation: number
  readonly isAlive: boolean
  /** Whether an agent has ever introduced itself. */
  readonly isIntroduced: boolean
  /** How the last process ended, for people. */
  readonly epitaph: string
  /** Sends a client's line. */
  send(line: Buffer | string): void
  readonly unsent: number
  pause(): void
  resume(): void
  /** The agent, introduced and ready to be asked; a dead one is started again. */
  ready(): Promise<SeatAgent>
  /** What the client said of itself, and what the agent answered. */
  introduced(params: JsonObject, answer: unknown): void
  /** The client has signed in: whoever comes next has to as well. */
  signedIn(params: JsonObject): void
  end(): Promise<ProcessEnd>
}

interface Life {
  readonly generation: number
  readonly process: AgentProcess
  readonly peer: Peer
}

export function createAgentSide(options: AgentSideOptions): AgentSide {
  const { start = startAgent } = options
  let initialize: JsonObject | null = null
  let authenticate: JsonObject | null = null
  let abilities: Abilities = abilitiesOf(null)
  let generation = 0
  let epitaph = 'the agent has ended'
  let life: Life | null = live()
  let reviving: Promise<Life> | null = null
  /** The last life, so that it can be ended and waited for when it is over, too. */
  let last = life

  function live(): Life {
    const mine = generation
    const process = start(options.command, {
      onLine(line) {
        if (!peer.take(line)) options.onLine(line, mine)
      },
      onEnd() {
        if (life?.generation === mine) life = null
        peer.end(new ConnectionEnded('the agent has ended'))
        void process.ended.then(end => {
          epitaph = epitaphOf(end)
          options.onEnd(end, mine)
        })
      },
      onDrain: options.onDrain,
      onComplaint: options.onComplaint,
    })
    const peer = createPeer(process)
    return { generation: mine, process, peer }
  }

  async function revive(): Promise<Life> {
    if (initialize === null) throw new ConnectionEnded('the agent ended before it was introduced')
    generation++
    const next = live()
    last = next
    life = next
    abilities = abilitiesOf(await next.peer.request('initialize', initialize))
    if (authenticate) await next.peer.request('authenticate', authenticate)
    return next
  }

  async function ready(): Promise<SeatAgent> {
    if (life === null || reviving) {
      reviving ??= revive().finally(() => {
        reviving = null
      })
      await reviving
    }
    const { peer } = life ?? last
    return { abilities, request: (...asked) => peer.request(...asked) }
  }

  return {
    get generation() {
      return generation
    },
    get isAlive() {
      return life !== null
    },
    get isIntroduced() {
      return initialize !== null
    },
    get epitaph() {
      return epitaph
    },
    send: line => life?.process.send(line),
    get unsent() {
      return life?.process.unsent ?? 0
    },
    pause: () => life?.process.pause(),
    resume: () => life?.process.resume(),
    ready,
    introduced(params, answer) {
      initialize = params
      if (isObject(answer)) abilities = abilitiesOf(answer)
    },
    signedIn(params) {
      authenticate = params
    },
    end: () => last.process.end(),
  }
}

function epitaphOf(end: ProcessEnd): string {
  const words = end.said.trim()
  return `the agent has ended (${howEnded(end)})${words === '' ? '' : `: ${words}`}`
}
