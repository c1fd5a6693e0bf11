import { randomUUID } from 'node:crypto'
import { errorText } from '../../core/error-text.ts'
import type { JsonObject } from '../../core/json.ts'
import { findSession, storeIdKey } from '../sessions/session-id.ts'
import { afterSetting } from '../sessions/shown-settings.ts'
import { isObject } from '../wire/is-object.ts'
import { findSpans } from '../wire/json-spans.ts'
import { internalError } from '../wire/rpc-error.ts'
import { applyEdits, withMember } from '../wire/splice.ts'
import type { WireLine } from '../wire/wire-line.ts'
import { cancelPrompts } from './cancel-prompts.ts'
import { answerRequest, closeRequest, deleteRequest, forkRequest, listRequest } from './client-requests.ts'
import { createProxySession, findProxySession, noAnswer } from './create-session.ts'
import type { ProxyContext } from './proxy-context.ts'
import { keepSetting, type ProxySession } from './proxy-sessions.ts'
import { relayPrompt } from './relay-prompt.ts'
import { reopenSession } from './reopen-session.ts'
import { errorLine, rpcFailure, unknownSessionLine, withSessionId } from './reply-lines.ts'

/** A line of the client. */
interface ClientLine {
  readonly line: WireLine
  readonly params: JsonObject
  /** The session that it names, if it is open. */
  readonly session: ProxySession | undefined
}

/** Handles requests and notifications of the client: relays them, or answers them. */
export function createClientLineHandler(context: ProxyContext): (line: WireLine) => void {
  const { store, slot, replies, sessions, toClient, toAgent, log } = context

  /** The methods that the proxy takes part in. All others are relayed. */
  const handlers: Readonly<Record<string, (received: ClientLine) => void>> = {
    initialize: received => introduce(received),
    authenticate: signIn,
    'session/new': received => void begin(received),
    'session/load': ({ line }) => void reopenSession(context, line),
    'session/resume': ({ line }) => void reopenSession(context, line),
    'session/list': ({ line }) => void answerRequest(context, line, listRequest),
    'session/fork': ({ line }) => void answerRequest(context, line, forkRequest),
    'session/delete': ({ line }) => void answerRequest(context, line, deleteRequest),
    'session/close': ({ line }) => void answerRequest(context, line, closeRequest),
    'session/prompt': received => void prompt(received),
    'session/cancel': cancel,
    'session/set_mode': set,
    'session/set_model': set,
    'session/set_config_option': set,
    'session/set_title': setTitle,
  }

  return line => {
    const { method, id, params = {} } = line.message!
    const { sessionId } = params
    const session = typeof sessionId === 'string' ? sessions.get(sessionId) : undefined
    const received = { line, params, session }
    const handle = handlers[method!]
    if (handle) handle(received)
    else if (id === undefined) relayNotification(received)
    else void relayRequest(received)
  }

  /** An agent that does not answer is started again, once. */
  function introduce({ line, params }: Pick<ClientLine, 'line' | 'params'>, isSecond = false): void {
    const { answerMs } = context.limits
    let isLate = false
    const failed = () => {
      died(line)
      if (!slot.isIntroduced) context.giveUp()
    }
    if (!slot.isAlive) {
      failed()
      return
    }
    const giveUp = () => {
      isLate = true
      log(noAnswer('initialize', answerMs))
      slot.restart()
    }
    const callOff = context.source.after(answerMs, giveUp, { idle: true })
    replies.expect(line.message!.id!, {
      onAnswer(reply) {
        callOff()
        const { result, error } = reply.message!
        const version = isObject(result) ? result.protocolVersion : null
        if (!error) slot.introduced(params, result)
        if (version !== 1 && !error)
          log(
            `the agent speaks version ${String(version)} of the protocol: it is passed on, and nothing is kept`,
          )
        const isOurs = context.storeId !== null && storeIdIn(result) === context.storeId
        toClient(version === 1 && !isOurs ? withOurCapabilities(reply.bytes) : reply.bytes)
        if (isOurs) context.relayOnly()
      },
      onDeath() {
        callOff()
        if (!isLate || isSecond) return failed()
        slot.launch()
        introduce({ line, params }, true)
      },
    })
    toAgent(line.bytes)
  }

  function signIn(received: ClientLine): void {
    void relayRequest(received, () => slot.signedIn(received.params))
  }

  /** Settings are repeated in the agent's next session. */
  function set(received: ClientLine): void {
    const { line, params, session } = received
    const { method } = line.message!
    void relayRequest(received, result => {
      if (!session) return
      const { sessionId: _, ...rest } = params
      session.shown = afterSetting(session.shown, method!, rest, result)
      // A session that lacks earlier settings gets all of them with its next prompt.
      if (session.settings.size === 0) session.setIn = session.seat.sessionId
      keepSetting(session, { method: method!, params: rest })
    })
  }

  /** The title of the agent is ours as well. */
  function setTitle(received: ClientLine): void {
    const { params, session } = received
    void relayRequest(received, () => {
      if (!session || typeof params.title !== 'string') return
      const { title } = params
      const kept = session
        .branch()
        .then(({ conversationId }) => store.updateConversation(conversationId, { title }))
      kept.catch((error: unknown) => log(`title: ${errorText(error)}`))
    })
  }

  /** Relays a notification. Without a process, it is dropped. */
  function relayNotification(received: ClientLine): void {
    if (slot.isAlive) toAgent(forAgent(received))
  }

  /** Relays a request. Without a process, one is started, and the session opened, first. */
  async function relayRequest(received: ClientLine, onDone?: (result: unknown) => void): Promise<void> {
    const { line, session } = received
    const id = line.message!.id!
    const expect = () =>
      replies.expect(id, {
        onAnswer(reply) {
          if (!reply.message!.error) onDone?.(reply.message!.result)
          toClient(reply.bytes)
        },
        onDeath: () => died(line),
      })
    if (slot.isAlive && (!session || session.seat.sessionId !== null)) {
      expect()
      toAgent(forAgent(received))
      return
    }
    try {
      await slot.ready()
      await session?.seat.sit()
      expect()
      toAgent(forAgent(received))
    } catch (error) {
      toClient(errorLine(id, rpcFailure(error)))
    }
  }

  /** The line with the agent's session id. */
  function forAgent({ line, session }: ClientLine): Buffer {
    const sessionId = session?.seat.sessionId
    return sessionId ? withSessionId(line, sessionId) : line.bytes
  }

  /** `session/new`: the client gets the agent's session id, unless that id is already in use. */
  async function begin({ line, params }: ClientLine): Promise<void> {
    const id = line.message!.id!
    try {
      if (!slot.isAlive) await slot.ready()
    } catch (error) {
      toClient(errorLine(id, rpcFailure(error)))
      return
    }
    replies.expect(id, {
      async onAnswer(reply) {
        const { result } = reply.message!
        const agents = isObject(result) ? result.sessionId : null
        if (typeof agents !== 'string') {
          toClient(reply.bytes)
          return
        }
        const isTaken = sessions.get(agents) !== undefined || (await isStored(agents))
        const clients = isTaken ? randomUUID() : agents
        const session = createProxySession(context, clients, params, null)
        session.seat.begun(agents)
        const { sessionId: _, ...shown } = result as JsonObject
        session.shown = shown
        const by = JSON.stringify(clients)
        const spans = isTaken ? findSpans(reply.bytes, ['result', 'sessionId']) : []
        toClient(
          applyEdits(
            reply.bytes,
            spans.map(span => ({ span, by })),
          ),
        )
        sessions.link(agents, session)
      },
      onDeath: () => died(line),
    })
    toAgent(line.bytes)
  }

  /** Whether a session id is in the store. A store that is away must not keep the client from its session:
   *  agents rarely use an id twice. */
  async function isStored(sessionId: string): Promise<boolean> {
    try {
      return (await findSession(store, sessionId)) !== null
    } catch (error) {
      context.storeIsAway(error)
      return false
    }
  }

  /** A session that is not open is opened first, as with `session/load` (S4-10). */
  async function prompt({ line, params, session }: ClientLine): Promise<void> {
    const id = line.message!.id!
    const sessionId = String(params.sessionId)
    try {
      const open = session ?? (await findProxySession(context, sessionId, {}))
      if (open) await relayPrompt(context, open, line)
      else toClient(unknownSessionLine(id, sessionId))
    } catch (error) {
      log(`prompt: ${String(error)}`)
      toClient(errorLine(id, rpcFailure(error)))
    }
  }

  /** Cancels the running prompt, and those that wait. */
  function cancel(received: ClientLine): void {
    const { session } = received
    const hadPrompts = session !== undefined && session.prompts.size > 0
    const isSent = session !== undefined && cancelPrompts(context, session)
    if (isSent || !hadPrompts) relayNotification(received)
  }

  function died(line: WireLine): void {
    toClient(errorLine(line.message!.id!, { code: internalError, message: slot.exitMessage }))
  }
}

/** The store of an agent of ours, from its answer to `initialize`. */
function storeIdIn(answer: unknown): unknown {
  const capabilities = isObject(answer) ? answer.agentCapabilities : null
  const meta = isObject(capabilities) ? capabilities._meta : null
  return isObject(meta) ? meta[storeIdKey] : null
}

/** The capabilities that the proxy adds to every agent. */
const ours = ['list', 'resume', 'fork', 'delete', 'close'] as const

/** The answer to `initialize`, with our capabilities added. Everything else stays unchanged. */
function withOurCapabilities(answer: Buffer): Buffer {
  const capabilities = ['result', 'agentCapabilities']
  let extended = withMember(answer, [...capabilities, 'loadSession'], 'true')
  for (const ability of ours) {
    const path = [...capabilities, 'sessionCapabilities', ability]
    const [span] = findSpans(extended, path)
    const isThere = span !== undefined && extended.subarray(span.from, span.to).toString() !== 'null'
    if (!isThere) extended = withMember(extended, path, '{}')
  }
  return extended
}
