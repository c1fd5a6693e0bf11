import { hear } from '../transcript/hear.ts'
import { parseLine } from '../wire/read-lines.ts'
import type { WireLine } from '../wire/wire-line.ts'
import type { AgentRequestIds } from './agent-request-ids.ts'
import type { PermissionLog } from './permission-log.ts'
import type { ProxyContext } from './proxy-context.ts'
import type { ProxySession } from './proxy-sessions.ts'
import { withSessionId } from './reply-lines.ts'

/** A line of the agent's, and which of its processes said it. */
export interface AgentLine {
  readonly line: WireLine
  readonly generation: number
}

export interface AgentLineHandler {
  /** What it returns is to be waited for before the next line is looked at. */
  see(said: AgentLine): void | Promise<void>
  /** The agent's id of a session that it has just begun is known: what it said of it meanwhile is looked at
   *  now. */
  settle(): void
  /** The agent has died. */
  forget(): void
}

/** Sees to what the agent says: keeps it, and passes on what is news for the client. */
export function createAgentLineHandler(
  context: ProxyContext,
  requestIds: AgentRequestIds,
  permissions: PermissionLog,
): AgentLineHandler {
  const { replies, sessions, toClient } = context
  /** Updates of a session that the agent has just begun for us, and whose id we are about to learn. */
  let unmatchedUpdates: AgentLine[] = []

  function see({ line, generation }: AgentLine): void | Promise<void> {
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

  /** A request or a notification: only ids in it may have to be others. */
  function ask({ line, generation }: AgentLine): void {
    const { method } = line.message!
    const session = sessionOf(line)
    const mapped = session ? { ...line, bytes: withSessionId(line, session.id) } : line
    const bytes = requestIds.outgoing(mapped, generation)
    if (session && method === 'session/request_permission') permissions.asked(parseLine(bytes), session)
    toClient(bytes)
  }

  function update(said: AgentLine): void {
    const { line } = said
    const session = sessionOf(line)
    const { sessionId, update: news } = line.message!.params ?? {}
    if (session) {
      if (session.seat.hear(hear(news)) === 'show') toClient(withSessionId(line, session.id))
    } else if (sessions.all().some(one => one.seat.isSitting)) {
      unmatchedUpdates.push(said)
    } else {
      if (typeof sessionId === 'string') context.adoptions.get(sessionId)?.window.hear(hear(news))
      toClient(line.bytes)
    }
  }

  return {
    see,
    settle() {
      const waiting = unmatchedUpdates
      unmatchedUpdates = []
      for (const said of waiting) update(said)
    },
    forget() {
      unmatchedUpdates = []
    },
  }
}
