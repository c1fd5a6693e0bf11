import { hear } from '../transcript/hear.ts'
import type { Line } from '../wire/line.ts'
import { lineOf } from '../wire/read-lines.ts'
import type { Entry } from './entry.ts'
import { withSessionId } from './map-id.ts'
import type { OwnIds } from './own-ids.ts'
import type { Permissions } from './permissions.ts'
import type { Proxying } from './proxying.ts'

/** A line of the agent's, and which of its processes said it. */
export interface AgentLine {
  readonly line: Line
  readonly generation: number
}

export interface FromAgent {
  /** What it returns is to be waited for before the next line is looked at. */
  see(said: AgentLine): void | Promise<void>
  /** The agent's id of a session that it has just begun is known: what it said of it meanwhile is looked at now. */
  settle(): void
  /** The agent has died. */
  forget(): void
}

/** Sees to what the agent says: keeps it, and passes on what is news for the client. */
export function createFromAgent(proxying: Proxying, ownIds: OwnIds, permissions: Permissions): FromAgent {
  const { answers, entries, tell } = proxying
  /** Updates of a session that the agent has just begun for us, and whose id we are about to learn. */
  let strays: AgentLine[] = []

  function see({ line, generation }: AgentLine): void | Promise<void> {
    const { message } = line
    if (!message) tell(line.bytes)
    else if (message.method === undefined) return answer(line)
    else if (message.method === 'session/update') update({ line, generation })
    else ask({ line, generation })
  }

  function answer(line: Line): void | Promise<void> {
    const { id } = line.message!
    const awaiting = id === undefined ? undefined : answers.take(id)
    if (awaiting) return awaiting.onAnswer(line)
    tell(line.bytes)
  }

  function entryOf(line: Line): Entry | undefined {
    const { sessionId } = line.message!.params ?? {}
    return typeof sessionId === 'string' ? entries.ofAgent(sessionId) : undefined
  }

  /** A request or a notification: only ids in it may have to be others. */
  function ask({ line, generation }: AgentLine): void {
    const { method } = line.message!
    const entry = entryOf(line)
    const mapped = entry ? { ...line, bytes: withSessionId(line, entry.id) } : line
    const bytes = ownIds.outgoing(mapped, generation)
    if (entry && method === 'session/request_permission') permissions.asked(lineOf(bytes), entry)
    tell(bytes)
  }

  function update(said: AgentLine): void {
    const { line } = said
    const entry = entryOf(line)
    const { sessionId, update: news } = line.message!.params ?? {}
    if (entry) {
      if (entry.seat.hear(hear(news)) === 'show') tell(withSessionId(line, entry.id))
    } else if (entries.all().some(one => one.seat.isSitting)) {
      strays.push(said)
    } else {
      if (typeof sessionId === 'string') proxying.adopting.get(sessionId)?.window.hear(hear(news))
      tell(line.bytes)
    }
  }

  return {
    see,
    settle() {
      const waiting = strays
      strays = []
      for (const said of waiting) update(said)
    },
    forget() {
      strays = []
    },
  }
}
