import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import { collectPages } from '../../core/pages.ts'
import { deleteSession } from '../delete-session.ts'
import { directoryOf } from '../directory.ts'
import { errorText } from '../error-text.ts'
import { forkBranch } from '../fork-branch.ts'
import type { SeatAgent } from '../seat/seat-agent.ts'
import { findPlace } from '../session-id.ts'
import { listSessions } from '../session-list.ts'
import { isObject } from '../wire/is-object.ts'
import type { Line } from '../wire/line.ts'
import type { Entry } from './entry.ts'
import { entryFor, makeEntry } from './make-entry.ts'
import type { Proxying } from './proxying.ts'
import { errorLine, failureOf, resultLine, unknownSession } from './reply.ts'

type Request = { readonly id: string | number; readonly params?: JsonObject }

/** Answers a request of the client's that we see to ourselves. */
export async function answerRequest(
  proxying: Proxying,
  line: Line,
  see: (proxying: Proxying, params: JsonObject) => Promise<unknown>,
): Promise<void> {
  const { id, params = {} } = line.message as Request
  try {
    const answer = await see(proxying, params)
    proxying.tell(answer === null ? unknownSession(id, String(params.sessionId)) : resultLine(id, answer))
  } catch (error) {
    proxying.tell(errorLine(id, failureOf(error)))
  }
}

/** The agent, if it can be had: what is in the store does not depend on it. */
async function ifThere({ side, log }: Proxying): Promise<SeatAgent | null> {
  try {
    return await side.ready()
  } catch (error) {
    log(errorText(error))
    return null
  }
}

/** `session/list`: what is in the store, and behind it what only the agent knows. */
export async function seeToList(proxying: Proxying, params: JsonObject): Promise<unknown> {
  const { cwd } = params
  const directory = typeof cwd === 'string' ? { cwd: directoryOf(cwd) } : {}
  const page = await listSessions(proxying.store, { ...params, ...directory })
  // In the client's own words, so that it knows its directory again.
  const sessions = page.sessions.map(one => ({ ...one, ...(typeof cwd === 'string' ? { cwd } : {}) }))
  if (page.nextCursor !== undefined) return { sessions, nextCursor: page.nextCursor }
  return { sessions: [...sessions, ...(await agentsOwn(proxying, params))] }
}

/** How many pages of an agent's own list are looked at. */
const mostPages = 10

async function agentsOwn(proxying: Proxying, { cwd }: JsonObject): Promise<readonly JsonObject[]> {
  const agent = await ifThere(proxying)
  if (!agent?.abilities.list) return []
  const own: JsonObject[] = []
  let cursor: unknown
  try {
    const gone = agent.abilities.delete ? null : await deletedHere(proxying, cwd)
    for (let page = 0; page < mostPages; page++) {
      const asked = { ...(cwd === undefined ? {} : { cwd }), ...(cursor === undefined ? {} : { cursor }) }
      const answer = await agent.request('session/list', asked as JsonObject)
      if (!isObject(answer) || !Array.isArray(answer.sessions)) break
      for (const one of answer.sessions as unknown[])
        if (isObject(one) && !gone?.has(String(one.sessionId)) && (await isOnlyAgents(proxying, one)))
          own.push(one)
      cursor = answer.nextCursor
      if (typeof cursor !== 'string') break
    }
  } catch (error) {
    proxying.log(`the agent's own list: ${errorText(error)}`)
  }
  return own
}

/** How many deleted conversations are looked at. */
const mostDeleted = 200

/** The agent's ids of what lies in the trash: an agent that cannot delete still lists it. */
async function deletedHere({ store, name }: Proxying, cwd: unknown): Promise<ReadonlySet<string>> {
  const { items } = await store.listConversations({
    kind: 'main',
    trashed: true,
    limit: mostDeleted,
    ...(typeof cwd === 'string' ? { directory: directoryOf(cwd) } : {}),
  })
  const links = await Promise.all(
    items.map(async ({ id }) => {
      const branches = await collectPages(page => store.listBranches(id, page))
      return Promise.all(
        branches.map(branch =>
          collectPages(page => store.listAgentLinks({ conversationId: id, name: branch.name }, page)),
        ),
      )
    }),
  )
  return new Set(links.flat(2).flatMap(link => (link.agent === name ? [link.foreignId] : [])))
}

/** Whether a session that the agent lists is none of ours: neither by its id, nor one that we began for a branch. */
async function isOnlyAgents({ store, name }: Proxying, { sessionId }: JsonObject): Promise<boolean> {
  if (typeof sessionId !== 'string') return false
  if (await store.findByAgentLink(name, sessionId)) return false
  return (await findPlace(store, sessionId)) === null
}

/** `session/fork`: a branch at the newest message. The agent's own fork is taken where it has all of it; otherwise the new
 *  session is told what was said when it is first spoken to. */
export async function seeToFork(proxying: Proxying, params: JsonObject): Promise<unknown> {
  const source = await entryFor(proxying, String(params.sessionId), params)
  if (!source) return null
  const id = randomUUID()
  const branch = await forkBranch(proxying.store, await source.branch(), id)
  const { sessionId: _, ...rest } = params
  const entry = makeEntry(proxying, id, rest, branch)
  const { sessionId: __, ...answer } =
    (await forkedByAgent(proxying, source, entry, rest)) ?? (await entry.seat.sit())
  return { ...answer, sessionId: id }
}

async function forkedByAgent(
  proxying: Proxying,
  source: Entry,
  entry: Entry,
  params: JsonObject,
): Promise<JsonObject | null> {
  const { store, name, side, entries } = proxying
  const { sessionId } = source.seat
  const branch = await entry.branch()
  const { head } = await store.getBranch(branch)
  const agent = await side.ready()
  if (!agent.abilities.fork || sessionId === null || head === null || source.seat.seen !== head) return null
  try {
    const answer = await agent.request('session/fork', { ...params, sessionId })
    if (!isObject(answer) || typeof answer.sessionId !== 'string') return null
    entries.link(answer.sessionId, entry)
    entry.seat.begun(answer.sessionId, head)
    await store.setAgentLink(branch, {
      agent: name,
      directory: entry.directory,
      foreignId: answer.sessionId,
      seen: head,
    })
    return answer
  } catch (error) {
    proxying.log(`the agent's own fork: ${errorText(error)}`)
    return null
  }
}

/** `session/delete`: see `deleteSession`. The agent's own session goes as well, where it can. */
export async function seeToDelete(proxying: Proxying, params: JsonObject): Promise<unknown> {
  const { store, entries, name } = proxying
  const id = String(params.sessionId)
  const place = await findPlace(store, id)
  const open = entries.get(id)
  if (!place && !open) return null
  for (const { abort } of open?.prompts ?? []) abort.abort()
  if (open) entries.remove(open)
  if (!place) return {}
  const links = await collectPages(page => store.listAgentLinks(place.branch, page))
  await deleteSession(store, place)
  const agent = await ifThere(proxying)
  if (!agent?.abilities.delete) return {}
  for (const { agent: whose, foreignId } of links)
    if (whose === name) await agent.request('session/delete', { sessionId: foreignId }).catch(() => undefined)
  return {}
}

/** `session/close`: whatever runs is stopped, and the agent is told where it wants to be. */
export async function seeToClose(proxying: Proxying, params: JsonObject): Promise<unknown> {
  const { entries } = proxying
  const entry = entries.get(String(params.sessionId))
  if (!entry) return {}
  const { sessionId } = entry.seat
  for (const { abort } of entry.prompts) abort.abort()
  const agent = sessionId === null ? null : await ifThere(proxying)
  if (agent?.abilities.close && sessionId !== null)
    await agent.request('session/close', { sessionId }).catch(() => undefined)
  await entry.seat.idle()
  entries.remove(entry)
  return {}
}
