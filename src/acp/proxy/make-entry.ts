import type { BranchRef } from '../../core/branch.ts'
import { InvalidError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { directoryOf } from '../directory.ts'
import { createSeat } from '../seat/seat.ts'
import { findPlace, sessionKeyPrefix } from '../session-id.ts'
import type { Entry } from './entry.ts'
import type { Proxying } from './proxying.ts'

/** A session of the client's, with a seat on its branch. The branch of a new one is made with its first message: whoever
 *  opens a session and says nothing leaves nothing behind. */
export function makeEntry(
  proxying: Proxying,
  id: string,
  params: JsonObject,
  known: BranchRef | null,
): Entry {
  const { store, source, name, side, entries } = proxying
  const cwd = typeof params.cwd === 'string' ? params.cwd : process.cwd()
  const directory = directoryOf(cwd)
  let made = known ? Promise.resolve(known) : null
  const branch = () => {
    made ??= make()
    return made
  }
  const entry: Entry = {
    id,
    directory,
    branch,
    settings: new Map(),
    setIn: null,
    prompts: new Set(),
    seat: createSeat({
      store,
      source,
      agent: name,
      directory,
      params: { mcpServers: [], ...params, cwd },
      start: side.ready,
      branch,
      onSession: sessionId => entries.link(sessionId, entry),
    }),
  }
  entries.add(entry)
  return entry

  async function make(): Promise<BranchRef> {
    const place = await store.findOrCreate(`${sessionKeyPrefix}${id}`, {
      directory,
      channel: 'acp',
      model: name,
    })
    return place.branch
  }
}

/** The session that the client means: one that is open, or one from the store. Null if nobody knows it. */
export async function entryFor(proxying: Proxying, id: string, params: JsonObject): Promise<Entry | null> {
  const open = proxying.entries.get(id) ?? (await proxying.adopting.get(id)?.done)
  if (open) return open
  const place = await findPlace(proxying.store, id)
  if (!place) return null
  const { directory, owner } = place.conversation
  if (owner !== null)
    throw new InvalidError('session', `${id} belongs to ${owner}, which alone writes it: skein show ${id}`)
  const { sessionId: _, ...rest } = params
  const cwd = typeof rest.cwd === 'string' ? rest.cwd : (directory ?? process.cwd())
  return proxying.entries.get(id) ?? makeEntry(proxying, id, { ...rest, cwd }, place.branch)
}
