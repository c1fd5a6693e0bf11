import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import { findSession } from '../sessions/session-id.ts'
import { isObject } from '../wire/is-object.ts'
import { findSpans } from '../wire/json-spans.ts'
import { internalError } from '../wire/rpc-error.ts'
import { applyEdits, withMember } from '../wire/splice.ts'
import type { WireLine } from '../wire/wire-line.ts'
import { answerRequest, closeRequest, deleteRequest, forkRequest, listRequest } from './client-requests.ts'
import { createProxySession, findProxySession } from './create-session.ts'
import type { ProxyContext } from './proxy-context.ts'
import type { ProxySession } from './proxy-sessions.ts'
import { relayPrompt } from './relay-prompt.ts'
import { reopenSession } from './reopen-session.ts'
import { errorLine, rpcFailure, unknownSessionLine, withSessionId } from './reply-lines.ts'

/** What a client's line is about. */
interface Said {
  readonly line: WireLine
  readonly params: JsonObject
  /** The session that it names, if we know it. */
  readonly session: ProxySession | undefined
}

/** Sees to the client's requests and notifications: passes them on, or does what they ask for. */
export function createClientLineHandler(context: ProxyContext): (line: WireLine) => void {
  const { store, slot, replies, sessions, toClient, toAgent, log } = context

  /** The methods that we have a part in. All others go through. */
  const seen: Readonly<Record<string, (said: Said) => void>> = {
    initialize: introduce,
    authenticate: signIn,
    'session/new': said => void begin(said),
    'session/load': ({ line }) => void reopenSession(context, line),
    'session/resume': ({ line }) => void reopenSession(context, line),
    'session/list': ({ line }) => void answerRequest(context, line, listRequest),
    'session/fork': ({ line }) => void answerRequest(context, line, forkRequest),
    'session/delete': ({ line }) => void answerRequest(context, line, deleteRequest),
    'session/close': ({ line }) => void answerRequest(context, line, closeRequest),
    'session/prompt': said => void prompt(said),
    'session/cancel': cancel,
    'session/set_mode': set,
    'session/set_config_option': set,
  }

  return line => {
    const { method, id, params = {} } = line.message!
    const { sessionId } = params
    const session = typeof sessionId === 'string' ? sessions.get(sessionId) : undefined
    const said = { line, params, session }
    const see = seen[method!]
    if (see) see(said)
    else if (id === undefined) passOn(said)
    else void pass(said)
  }

  function introduce({ line, params }: Said): void {
    const failed = () => {
      died(line)
      if (!slot.isIntroduced) context.giveUp()
    }
    if (!slot.isAlive) {
      failed()
      return
    }
    replies.expect(line.message!.id!, {
      onAnswer(reply) {
        const { result, error } = reply.message!
        const version = isObject(result) ? result.protocolVersion : null
        if (!error) slot.introduced(params, result)
        if (version !== 1 && !error)
          log(
            `the agent speaks version ${String(version)} of the protocol: it is passed on, and nothing is kept`,
          )
        toClient(version === 1 ? withOurCapabilities(reply.bytes) : reply.bytes)
      },
      onDeath: failed,
    })
    toAgent(line.bytes)
  }

  function signIn(said: Said): void {
    void pass(said, () => slot.signedIn(said.params))
  }

  /** What was set is set again in the next session of the agent's. */
  function set(said: Said): void {
    const { line, params, session } = said
    const { method } = line.message!
    void pass(said, () => {
      if (!session) return
      const { sessionId: _, ...rest } = params
      session.settings.set(`${method!} ${String(params.configId ?? '')}`, { method: method!, params: rest })
      session.setIn = session.seat.sessionId
    })
  }

  /** Passes a notification on. If the agent is dead, it is for nobody. */
  function passOn(said: Said): void {
    if (slot.isAlive) toAgent(forAgent(said))
  }

  /** Passes a request on; an agent that has died since is started again, and seated, before it is asked. */
  async function pass(said: Said, onDone?: () => void): Promise<void> {
    const { line, session } = said
    const id = line.message!.id!
    const expect = () =>
      replies.expect(id, {
        onAnswer(reply) {
          if (!reply.message!.error) onDone?.()
          toClient(reply.bytes)
        },
        onDeath: () => died(line),
      })
    if (slot.isAlive && (!session || session.seat.sessionId !== null)) {
      expect()
      toAgent(forAgent(said))
      return
    }
    try {
      await slot.ready()
      await session?.seat.sit()
      expect()
      toAgent(forAgent(said))
    } catch (error) {
      toClient(errorLine(id, rpcFailure(error)))
    }
  }

  /** The line with the agent's own id for the session. */
  function forAgent({ line, session }: Said): Buffer {
    const sessionId = session?.seat.sessionId
    return sessionId ? withSessionId(line, sessionId) : line.bytes
  }

  /** `session/new`: the agent's id is the client's too, unless there is one like it already. */
  async function begin({ line, params }: Said): Promise<void> {
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
        const isTaken = sessions.get(agents) !== undefined || (await findSession(store, agents)) !== null
        const clients = isTaken ? randomUUID() : agents
        const session = createProxySession(context, clients, params, null)
        session.seat.begun(agents)
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

  /** A session that is not open is taken up in the same way as by `session/load` (S4-10). */
  async function prompt({ line, params, session }: Said): Promise<void> {
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

  /** Stops what the agent is at, and what waits for it. */
  function cancel(said: Said): void {
    const prompts = [...(said.session?.prompts ?? [])]
    const waiting = prompts.filter(({ sent }) => !sent)
    for (const { abort } of waiting) abort.abort(new DOMException('cancelled', 'AbortError'))
    if (waiting.length === 0 || waiting.length < prompts.length) passOn(said)
  }

  function died(line: WireLine): void {
    toClient(errorLine(line.message!.id!, { code: internalError, message: slot.exitMessage }))
  }
}

/** What we can do for every agent. */
const ours = ['list', 'resume', 'fork', 'delete', 'close'] as const

/** The answer to `initialize`, with what we add to the agent's own capabilities. Everything else stays as the
 *  agent said it. */
function withOurCapabilities(answer: Buffer): Buffer {
  const capabilities = ['result', 'agentCapabilities']
  let said = withMember(answer, [...capabilities, 'loadSession'], 'true')
  for (const ability of ours) {
    const path = [...capabilities, 'sessionCapabilities', ability]
    const [span] = findSpans(said, path)
    const isThere = span !== undefined && said.subarray(span.from, span.to).toString() !== 'null'
    if (!isThere) said = withMember(said, path, '{}')
  }
  return said
}
