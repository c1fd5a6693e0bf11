import { errorText } from '../../core/error-text.ts'
import { afterUpdate, requestsOf } from '../sessions/shown-settings.ts'
import { hear } from '../transcript/hear.ts'
import { parseLine } from '../wire/read-lines.ts'
import type { WireLine } from '../wire/wire-line.ts'
import type { AgentRequestIds } from './agent-request-ids.ts'
import type { PermissionLog } from './permission-log.ts'
import type { ProxyContext } from './proxy-context.ts'
import { keepSetting, type ProxySession } from './proxy-sessions.ts'
import { withSessionId } from './reply-lines.ts'
import { asksForTerminal, type TerminalLog } from './terminal-log.ts'

/** A line of the agent, and the generation of the process that sent it. */
export interface AgentLine {
  readonly line: WireLine
  readonly generation: number
}

export interface AgentLineHandler {
  /** If this returns a promise, the next line waits for it. */
  handle(received: AgentLine): void | Promise<void>
  /** A session id has become known: handles the updates that waited for it. */
  settle(): void
  /** The process has ended. */
  forget(): void
}

/** Handles lines of the agent: records updates, and relays those that the client should handle. */
export function createAgentLineHandler(
  context: ProxyContext,
  requestIds: AgentRequestIds,
  permissions: PermissionLog,
  terminals: TerminalLog,
): AgentLineHandler {
  const { replies, sessions, toClient } = context
  /** Updates of a session whose id the agent has just created, and we do not know yet. */
  let unmatchedUpdates: AgentLine[] = []

  function handle({ line, generation }: AgentLine): void | Promise<void> {
    const { message } = line
    if (!message) toClient(line.bytes)
    else if (message.method === undefined) return answer(line)
    else if (message.method === 'session/update') update({ line, generation })
    else ask({ line, generation })
  }

  function answer(line: WireLine): void | Promise<void> {
    const { id } = line.message!
    const pending = id === undefined ? undefined : replies.take(id)
    if (pending) return pending.onAnswer(line)
    toClient(line.bytes)
  }

  function sessionOf(line: WireLine): ProxySession | undefined {
    const { sessionId } = line.message!.params ?? {}
    return typeof sessionId === 'string' ? sessions.ofAgent(sessionId) : undefined
  }

  /** A request or a notification: only its ids may change. */
  function ask({ line, generation }: AgentLine): void {
    const { method } = line.message!
    const session = sessionOf(line)
    const mapped = session ? { ...line, bytes: withSessionId(line, session.id) } : line
    const bytes = requestIds.outgoing(mapped, generation)
    if (session && method === 'session/request_permission') permissions.asked(parseLine(bytes), session)
    if (session && asksForTerminal(method)) terminals.asked(parseLine(bytes), session)
    toClient(bytes)
  }

  function update(received: AgentLine): void {
    const { line } = received
    const session = sessionOf(line)
    const { sessionId, update: news } = line.message!.params ?? {}
    if (session) {
      // Before its first prompt, a session has the agent's defaults.
      if (session.setIn === sessionId)
        for (const request of requestsOf(session.shown, news)) keepSetting(session, request)
      session.shown = afterUpdate(session.shown, news)
      if (shows(session, news)) toClient(withSessionId(line, session.id))
    } else if (typeof sessionId === 'string' && sessions.isGone(sessionId)) {
      return
    } else if (sessions.all().some(one => one.seat.isSitting)) {
      unmatchedUpdates.push(received)
    } else {
      const adoption = typeof sessionId === 'string' ? context.adoptions.get(sessionId) : undefined
      adoption?.window.hear(hear(news))
      if (!adoption?.isSilent) toClient(line.bytes)
    }
  }

  /** Records an update. A failure of ours must not keep it from the client. */
  function shows(session: ProxySession, news: unknown): boolean {
    try {
      return session.seat.hear(hear(news)) === 'show'
    } catch (error) {
      context.log(`not recorded: ${errorText(error)}`)
      return true
    }
  }

  return {
    handle,
    settle() {
      const waiting = unmatchedUpdates
      unmatchedUpdates = []
      for (const received of waiting) update(received)
    },
    forget() {
      unmatchedUpdates = []
    },
  }
}
