import type { JsonObject } from '../../core/json.ts'
import { isNonEmpty } from '../../core/message.ts'
import { openReplay, type ReplayWindow } from '../seat/replay-window.ts'
import { messagesOf } from '../transcript/messages-of.ts'
import type { Line } from '../wire/line.ts'
import type { Entry } from './entry.ts'
import { makeEntry } from './make-entry.ts'
import type { Proxying } from './proxying.ts'
import { unknownSession } from './reply.ts'

/** A session that is being taken up from the agent's own memory. */
export interface Adopting {
  readonly window: ReplayWindow
  /** Null if the agent does not know it either. */
  readonly done: Promise<Entry | null>
}

/** A session that the agent may know from the time before us: the client's request goes on as it is, the agent's own replay
 *  is what the client sees, and what it says is kept, so that from now on nothing of it can be lost. */
export async function adoptSession(proxying: Proxying, line: Line): Promise<void> {
  const { id, method, params } = line.message as { id: string | number; method: string; params: JsonObject }
  const sessionId = String(params.sessionId)
  const { abilities } = await proxying.side.ready()
  if (!(method === 'session/load' ? abilities.load : abilities.resume)) {
    proxying.tell(unknownSession(id, sessionId))
    return
  }
  const window = openReplay(proxying.source)
  const knows = Promise.withResolvers<boolean>()
  proxying.answers.expect(id, {
    onAnswer(reply) {
      proxying.tell(reply.bytes)
      window.answered()
      knows.resolve(reply.message!.error === undefined)
    },
    onDeath() {
      proxying.tell(unknownSession(id, sessionId))
      knows.resolve(false)
    },
  })
  const done = (async () =>
    (await knows.promise) ? await keep(proxying, sessionId, params, window) : null)()
  proxying.adopting.set(sessionId, { window, done })
  proxying.toAgent(line.bytes)
  try {
    await done
  } finally {
    proxying.adopting.delete(sessionId)
  }
}

async function keep(
  proxying: Proxying,
  foreignId: string,
  { sessionId: _, ...params }: JsonObject,
  window: ReplayWindow,
): Promise<Entry> {
  const { store, name, entries } = proxying
  const messages = messagesOf(await window.whole())
  const entry = makeEntry(proxying, foreignId, params, null)
  entries.link(foreignId, entry)
  if (!isNonEmpty(messages)) {
    entry.seat.begun(foreignId)
    return entry
  }
  const branch = await entry.branch()
  const { head } = await store.append(branch, null, messages)
  await store.setAgentLink(branch, { agent: name, directory: entry.directory, foreignId, seen: head })
  entry.seat.begun(foreignId, head)
  return entry
}
