import type { JsonObject } from '../../core/json.ts'
import { errorText } from '../error-text.ts'
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
import { internalError, methodNotFound } from '../wire/rpc-error.ts'

export interface AgentLifeOptions {
  readonly command: AgentCommand
  readonly start: StartAgent
  /** Told of the process at once: one that never introduces itself has to be ended too. */
  onProcess(process: AgentProcess): void
  /** What we say of ourselves. */
  readonly introduction: JsonObject
  onUpdate(sessionId: string, update: unknown): void
  /** Answers what the agent asks of a client; null if that is not known here. */
  onRequest(method: string, params: JsonObject): Promise<JsonObject> | null
  onEnd(end: ProcessEnd): void
  onComplaint(text: string): void
}

/** An agent's process from its start to its end, introduced to us. */
export interface AgentLife extends SeatAgent {
  readonly process: AgentProcess
  readonly peer: Peer
  readonly abilities: Abilities
  /** What it said of itself. */
  readonly answer: JsonObject
}

/** Starts an agent and waits until it has introduced itself. Throws ConnectionEnded, with its last words, if it ends before. */
export async function startLife(options: AgentLifeOptions): Promise<AgentLife> {
  const process = options.start(options.command, {
    onLine,
    onEnd: () => void ended(),
    onComplaint: options.onComplaint,
  })
  options.onProcess(process)
  const peer = createPeer(process)
  try {
    const answer = await peer.request('initialize', options.introduction)
    const abilities = abilitiesOf(answer)
    return {
      process,
      peer,
      abilities,
      answer: isObject(answer) ? answer : {},
      request: (...asked) => peer.request(...asked),
    }
  } catch (error) {
    const end = await process.end()
    if (!(error instanceof ConnectionEnded)) throw error
    const words = end.said.trim()
    throw new ConnectionEnded(
      `it ended before it was ready (${howEnded(end)})${words === '' ? '' : `: ${words}`}`,
    )
  }

  async function ended(): Promise<void> {
    const end = await process.ended
    peer.end(new ConnectionEnded('the agent has ended'))
    options.onEnd(end)
  }

  function onLine(line: Line): void {
    if (peer.take(line) || !line.message) return
    const { id, method, params = {} } = line.message
    if (method === 'session/update') options.onUpdate(String(params.sessionId), params.update)
    else if (method !== undefined && id !== undefined) void answer(id, method, params)
  }

  async function answer(id: string | number | null, method: string, params: JsonObject): Promise<void> {
    const reply = (rest: object) => process.send(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
    try {
      const result = options.onRequest(method, params)
      if (result) reply({ result: await result })
      else reply({ error: { code: methodNotFound, message: `${method} is not known here` } })
    } catch (error) {
      reply({ error: { code: internalError, message: errorText(error) } })
    }
  }
}
