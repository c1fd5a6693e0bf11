import { resolve } from 'node:path'
import type { AgentEvent } from '../../agent/run/events.ts'
import type { BranchRef } from '../../core/branch.ts'
import { errorText } from '../../core/error-text.ts'
import { InvalidError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { AgentCommand, ProcessEnd } from '../process/agent-process.ts'
import { createAgentProcessSlot, exitDetails, type RunningAgent } from '../process/agent-process-slot.ts'
import type { Seat } from '../seat/seat.ts'
import { callInPermission } from '../transcript/hear.ts'
import { isObject } from '../wire/is-object.ts'
import {
  ConnectionEnded,
  internalError,
  invalidParams,
  methodNotFound,
  RpcError,
  requestCancelled,
} from '../wire/rpc-error.ts'
import type { RpcId, WireLine } from '../wire/wire-line.ts'
import { type AskElicitation, parseElicitation } from './elicitation.ts'
import type { OfferedWork, WorkContext } from './offered-work.ts'
import { type AskPermission, parsePermission, permissionAnswer, permissionChoice } from './permission.ts'

export interface HostAgentOptions {
  readonly command: AgentCommand
  readonly onPermission: AskPermission
  readonly onElicitation?: AskElicitation
  readonly work: OfferedWork
  readonly onStderr?: (text: string) => void
  /** The seat of a session, and the listener of its current turn. */
  seatOf(sessionId: string): HostedSeat | undefined
  onUpdate(sessionId: string, update: unknown): void
  /** The process has ended. */
  onEnd(): void
}

export interface HostedSeat {
  readonly branch: BranchRef
  readonly seat: Seat
  /** The listener of the current turn; null if none runs. */
  emit: ((event: AgentEvent) => void) | null
  /** Paths and commands that the person has allowed in this turn. */
  readonly granted: Set<string>
}

/** The agent of a host: its process, its requests to us, and the updates of its sessions. */
export interface HostAgent {
  /** The running agent, started if there is no process. Throws InvalidError after `close`. */
  ready(): Promise<RunningAgent>
  readonly lastEnd: ProcessEnd | null
  /** Aborts open questions of a session. */
  cancelQuestions(sessionId: string): void
  /** Ends a process that does not respond. The next `ready` starts another one. */
  restart(): void
  /** Starts no further process. */
  close(): void
  /** Ends the process. */
  end(): Promise<unknown>
}

export function createHostAgent(options: HostAgentOptions): HostAgent {
  const { onPermission, onElicitation, work, onStderr, seatOf } = options
  /** Open requests of the agent, by their ids. */
  const open = new Map<string, OpenRequest>()
  let isClosed = false
  const slot = createAgentProcessSlot({
    command: options.command,
    initialize: {
      protocolVersion: 1,
      clientCapabilities: {
        ...work.capabilities,
        session: { configOptions: { boolean: {} } },
        ...(onElicitation && { elicitation: { form: {}, url: {} } }),
      },
      clientInfo: { name: 'skein', title: 'Skein', version: '1' },
    },
    onLine,
    onEnd() {
      options.onEnd()
      for (const { stop } of open.values()) stop.abort(new ConnectionEnded('the agent has ended'))
      void work.end()
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
    else if (method === '$/cancel_request')
      open.get(JSON.stringify(params.requestId))?.stop.abort(new RpcError(cancelled))
    else if (method !== undefined && id !== undefined) void answer({ id, generation }, method, params)
  }

  async function answer({ id, generation }: AgentRequest, method: string, params: JsonObject): Promise<void> {
    const reply = (rest: object) => {
      // A replacement does not wait for the answers of its predecessor.
      if (generation === slot.generation) slot.send(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
    }
    const key = JSON.stringify(id)
    const sessionId = typeof params.sessionId === 'string' ? params.sessionId : null
    const stop = new AbortController()
    open.set(key, { stop, sessionId, isQuestion: !waiting.test(method) })
    try {
      reply({ result: await resultOf(method, params, stop.signal) })
    } catch (error) {
      const code = error instanceof RpcError ? error.code : internalError
      reply({ error: { code, message: errorText(error) } })
    } finally {
      open.delete(key)
    }
  }

  async function resultOf(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (method === 'session/request_permission') return permission(params, signal)
    if (method === 'elicitation/create' && onElicitation) return elicitation(params, onElicitation, signal)
    const perform = work.of(method)
    if (!perform) throw new RpcError({ code: methodNotFound, message: `${method} is not known here` })
    const hosted = seatOf(String(params.sessionId))
    if (!hosted) throw new RpcError({ code: invalidParams, message: 'no turn is running in this session' })
    return perform(params, contextOf(hosted, signal))
  }

  function contextOf(hosted: HostedSeat, signal: AbortSignal): WorkContext {
    const { seat, branch, granted } = hosted
    return {
      conversationId: branch.conversationId,
      signal,
      granted,
      emit(event) {
        // The call is stored before the person is asked.
        if (event.type === 'asking') seat.asked(null)
        hosted.emit?.(event)
      },
      trace: event => seat.trace(event),
      hear(change) {
        // A command that outlives its turn has no call to be stored with.
        if (hosted.emit) seat.hear({ type: 'terminal', change })
      },
    }
  }

  async function permission(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const request = parsePermission(params)
    const { seat, emit, granted } = seatOf(request.sessionId) ?? {}
    seat?.asked(callInPermission(params))
    emit?.({ type: 'asking', title: request.title, request: null })
    const chosen = await onPermission(request, signal)
    const optionId = signal.aborted ? null : chosen
    const answer = permissionAnswer(optionId)
    const choice = permissionChoice(request, optionId)
    if (choice.isAllowed && granted)
      for (const text of textsOf(params.toolCall ?? null)) {
        granted.add(text)
        granted.add(resolve(options.command.cwd ?? '.', text))
      }
    emit?.({ type: 'asked', callId: null, ...choice })
    const { toolCall = null, options: offered = null } = params
    seat?.trace({ type: 'permission', data: { toolCall, options: offered, answer } })
    return answer
  }

  async function elicitation(
    params: JsonObject,
    ask: AskElicitation,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const request = parseElicitation(params)
    if (!request)
      throw new RpcError({ code: invalidParams, message: 'this form of elicitation is not known here' })
    const { seat, emit } = seatOf(request.sessionId ?? '') ?? {}
    seat?.asked(null)
    emit?.({ type: 'asking', title: request.message, request: null })
    const { action, ...rest } = await ask(request, signal)
    const answer: JsonObject = signal.aborted ? { action: 'cancel' } : { action, ...(rest as JsonObject) }
    const isAllowed = answer.action === 'accept'
    const choice = String(answer.action)
    emit?.({ type: 'asked', callId: null, title: request.message, choice, isAllowed })
    // The values may be secrets: the trace has only the question.
    seat?.trace({ type: 'permission', data: { elicitation: request.message, answer: { action: choice } } })
    return answer
  }

  return {
    ready,
    get lastEnd() {
      return slot.lastEnd
    },
    cancelQuestions(sessionId) {
      for (const request of open.values())
        if (request.isQuestion && (request.sessionId ?? sessionId) === sessionId)
          request.stop.abort(new RpcError(cancelled))
    },
    restart: () => slot.restart(),
    close() {
      isClosed = true
    },
    async end() {
      await Promise.all([slot.end(), work.end()])
    },
  }
}

/** A request of the agent, by its id and the process that sent it. */
interface AgentRequest {
  readonly id: RpcId
  readonly generation: number
}

interface OpenRequest {
  readonly stop: AbortController
  readonly sessionId: string | null
  /** False if nothing is asked: it ends by itself when a turn is cancelled. */
  readonly isQuestion: boolean
}

const waiting = /^terminal\/(output|wait_for_exit|kill|release)$/
const cancelled = { code: requestCancelled, message: 'the request was cancelled' }

/** The texts in a call: its paths, and its command as a line or as words. */
function textsOf(call: Json): readonly string[] {
  if (!isObject(call)) return []
  const { rawInput, locations, content } = call
  const given = isObject(rawInput) ? Object.values(rawInput) : []
  const places = [locations, content].flatMap(list => (Array.isArray(list) ? list : [])).filter(isObject)
  const texts = [...given, ...places.map(({ path }) => path)].map(value =>
    Array.isArray(value) && value.every(word => typeof word === 'string') ? value.join(' ') : value,
  )
  return texts.filter(text => typeof text === 'string')
}
