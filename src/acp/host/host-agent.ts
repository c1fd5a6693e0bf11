import type { AgentEvent } from '../../agent/run/events.ts'
import { errorText } from '../../core/error-text.ts'
import { InvalidError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { AgentCommand, ProcessEnd } from '../process/agent-process.ts'
import { createAgentProcessSlot, exitDetails, type RunningAgent } from '../process/agent-process-slot.ts'
import type { Seat } from '../seat/seat.ts'
import { callInPermission } from '../transcript/hear.ts'
import { ConnectionEnded, internalError, methodNotFound } from '../wire/rpc-error.ts'
import type { RpcId, WireLine } from '../wire/wire-line.ts'
import { type AskPermission, parsePermission, permissionAnswer, permissionChoice } from './permission.ts'

export interface HostAgentOptions {
  readonly command: AgentCommand
  readonly onPermission: AskPermission
  readonly onStderr?: (text: string) => void
  /** The seat of a session, and the listener of its current turn. */
  seatOf(sessionId: string): Pick<HostedSeat, 'seat' | 'emit'> | undefined
  onUpdate(sessionId: string, update: unknown): void
  /** The process has ended. */
  onEnd(): void
}

export interface HostedSeat {
  readonly seat: Seat
  /** The listener of the current turn. */
  emit: ((event: AgentEvent) => void) | null
}

/** The agent of a host: its process, its requests to us, and the updates of its sessions. */
export interface HostAgent {
  /** The running agent, started if there is no process. Throws InvalidError after `close`. */
  ready(): Promise<RunningAgent>
  readonly lastEnd: ProcessEnd | null
  /** Aborts open permission requests of a session. */
  cancelPermissions(sessionId: string): void
  /** Ends a process that does not respond. The next `ready` starts another one. */
  restart(): void
  /** Starts no further process. */
  close(): void
  /** Ends the process. */
  end(): Promise<unknown>
}

export function createHostAgent(options: HostAgentOptions): HostAgent {
  const { onPermission, onStderr, seatOf } = options
  /** Open permission requests, with the agent's session id. */
  const asking = new Map<AbortController, string>()
  let isClosed = false
  const slot = createAgentProcessSlot({
    command: options.command,
    initialize,
    onLine,
    onEnd() {
      options.onEnd()
      for (const stop of asking.keys()) stop.abort()
    },
    ...(onStderr ? { onStderr } : {}),
  })

  async function ready(): Promise<RunningAgent> {
    if (isClosed) throw new InvalidError('agent', 'it has been closed')
    try {
      return await slot.ready()
    } catch (error) {
      if (!(error instanceof ConnectionEnded) || !slot.lastEnd) throw error
      throw new ConnectionEnded(`it ended before it was ready ${exitDetails(slot.lastEnd)}`)
    }
  }

  function onLine({ message }: WireLine, generation: number): void {
    if (!message) return
    const { id, method, params = {} } = message
    if (method === 'session/update') options.onUpdate(String(params.sessionId), params.update)
    else if (method !== undefined && id !== undefined) void answer({ id, generation }, method, params)
  }

  async function answer({ id, generation }: AgentRequest, method: string, params: JsonObject): Promise<void> {
    const reply = (rest: object) => {
      // A replacement does not wait for the answers of its predecessor.
      if (generation === slot.generation) slot.send(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
    }
    try {
      if (method === 'session/request_permission') reply({ result: await permission(params) })
      else reply({ error: { code: methodNotFound, message: `${method} is not known here` } })
    } catch (error) {
      reply({ error: { code: internalError, message: errorText(error) } })
    }
  }

  async function permission(params: JsonObject): Promise<JsonObject> {
    const request = parsePermission(params)
    const { seat, emit } = seatOf(request.sessionId) ?? {}
    const stop = new AbortController()
    asking.set(stop, request.sessionId)
    seat?.asked(callInPermission(params))
    emit?.({ type: 'asking', title: request.title, request: null })
    try {
      const chosen = await onPermission(request, stop.signal)
      const optionId = stop.signal.aborted ? null : chosen
      const answer = permissionAnswer(optionId)
      emit?.({ type: 'asked', callId: null, ...permissionChoice(request, optionId) })
      const { toolCall = null, options: offered = null } = params
      seat?.trace({ type: 'permission', data: { toolCall, options: offered, answer } })
      return answer
    } finally {
      asking.delete(stop)
    }
  }

  return {
    ready,
    get lastEnd() {
      return slot.lastEnd
    },
    cancelPermissions(sessionId) {
      for (const [stop, asked] of asking) if (asked === sessionId) stop.abort()
    },
    restart: () => slot.restart(),
    close() {
      isClosed = true
    },
    end: () => slot.end(),
  }
}

/** A request of the agent, by its id and the process that sent it. */
interface AgentRequest {
  readonly id: RpcId
  readonly generation: number
}

/** We neither read nor write files for an agent, nor run commands: it does that itself. */
const initialize: JsonObject = {
  protocolVersion: 1,
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  clientInfo: { name: 'skein', title: 'Skein', version: '1' },
}
