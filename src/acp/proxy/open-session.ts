import type { BranchRef } from '../../core/branch.ts'
import type { JsonObject } from '../../core/json.ts'
import { pathOf } from '../../core/path.ts'
import { takeOver } from '../../recorder/take-over.ts'
import { updatesOf } from '../transcript/updates.ts'
import type { Line } from '../wire/line.ts'
import { adoptSession } from './adopt-session.ts'
import { entryFor } from './make-entry.ts'
import type { Proxying } from './proxying.ts'
import { errorLine, failureOf, resultLine, updateLine } from './reply.ts'

/** `session/load` and `session/resume`: the client gets the transcript from the store, the agent its memory in whatever way
 *  it can. What the agent replays reaches no client: it would be a second transcript, with what the agent was told in it as
 *  somebody's words. */
export async function openSession(proxying: Proxying, line: Line): Promise<void> {
  const { id, method, params } = line.message as { id: string | number; method: string; params: JsonObject }
  const sessionId = String(params.sessionId)
  try {
    const entry = await entryFor(proxying, sessionId, params)
    if (!entry) return await adoptSession(proxying, line)
    const ref = await entry.branch()
    // What a dead process had heard of an answer is shown as well.
    await takeOver(proxying.store, ref.conversationId, ref.name, proxying.source)
    const { sessionId: _, ...answer } = await entry.seat.sit()
    if (method === 'session/load') await replay(proxying, sessionId, ref)
    proxying.tell(resultLine(id, answer))
  } catch (error) {
    proxying.tell(errorLine(id, failureOf(error)))
  }
}

/** Everything that was said, in order, before the answer. */
async function replay({ store, tell }: Proxying, sessionId: string, ref: BranchRef): Promise<void> {
  const { head } = await store.getBranch(ref)
  if (head === null) return
  for (const update of updatesOf(await pathOf(store, head))) tell(updateLine(sessionId, update))
}
