import { randomUUID } from 'node:crypto'
import type { AgentLink } from '../../core/branch.ts'
import { errorText } from '../../core/error-text.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { collectPages, itemsOf } from '../../core/pages.ts'
import type { RunningAgent } from '../process/agent-process-slot.ts'
import { deleteSession } from '../sessions/delete-session.ts'
import { directoryOf } from '../sessions/directory.ts'
import { forkBranch } from '../sessions/fork-branch.ts'
import { findSession } from '../sessions/session-id.ts'
import { listSessions } from '../sessions/session-list.ts'
import { isObject } from '../wire/is-object.ts'
import type { WireLine } from '../wire/wire-line.ts'
import { stopSession } from './cancel-prompts.ts'
import { createProxySession, findProxySession } from './create-session.ts'
import type { ProxyContext } from './proxy-context.ts'
import type { ProxySession } from './proxy-sessions.ts'
import { adoptSilently } from './reopen-session.ts'
import { errorLine, resultLine, rpcFailure, unknownSessionLine } from './reply-lines.ts'

type Request = { readonly id: string | number; readonly params?: JsonObject }

/** Answers a request that the proxy handles itself. */
export async function answerRequest(
  context: ProxyContext,
  line: WireLine,
  see: (context: ProxyContext, params: JsonObject) => Promise<unknown>,
): Promise<void> {
  const { id, params = {} } = line.message as Request
  try {
    const answer = await see(context, params)
    context.toClient(
      answer === null ? unknownSessionLine(id, String(params.sessionId)) : resultLine(id, answer),
    )
  } catch (error) {
    context.toClient(errorLine(id, rpcFailure(error)))
  }
}

/** The agent, if it can be started. The store does not depend on it. */
async function ifThere({ slot, log }: ProxyContext): Promise<RunningAgent | null> {
  try {
    return await slot.ready()
  } catch (error) {
    log(errorText(error))
    return null
  }
}

/** `session/list`: stored sessions, followed by those that only the agent knows. */
export async function listRequest(context: ProxyContext, params: JsonObject): Promise<unknown> {
  const { cwd } = params
  const directory = typeof cwd === 'string' ? { cwd: directoryOf(cwd) } : {}
  const page = await listSessions(context.store, { ...params, ...directory })
  // The client's own path, so that it recognizes its directory.
  const sessions = page.sessions.map(one => ({ ...one, ...(typeof cwd === 'string' ? { cwd } : {}) }))
  if (page.nextCursor !== undefined) return { sessions, nextCursor: page.nextCursor }
  return { sessions: [...sessions, ...(await agentsOwn(context, params))] }
}

/** Most pages of the agent's own list to read. */
const mostPages = 10

async function agentsOwn(context: ProxyContext, { cwd }: JsonObject): Promise<readonly JsonObject[]> {
  const agent = await ifThere(context)
  if (!agent?.capabilities.list) return []
  const own: JsonObject[] = []
  let cursor: unknown
  try {
    // Some agents cannot delete, and some write a deleted session again.
    const gone = await deletedHere(context, cwd)
    for (let page = 0; page < mostPages; page++) {
      const asked = { ...(cwd === undefined ? {} : { cwd }), ...(cursor === undefined ? {} : { cursor }) }
      const answer = await agent.request('session/list', asked as JsonObject)
      if (!isObject(answer) || !Array.isArray(answer.sessions)) break
      for (const one of answer.sessions as unknown[])
        if (isObject(one) && !gone.has(String(one.sessionId)) && (await isOnlyAgents(context, one)))
          own.push(one)
      cursor = answer.nextCursor
      if (typeof cursor !== 'string') break
    }
  } catch (error) {
    context.log(`the agent's own list: ${errorText(error)}`)
  }
  return own
}

/** Most deleted conversations to read. */
const mostDeleted = 200

/** The agent's session ids of conversations in the trash: an agent that cannot delete still lists them. */
async function deletedHere({ store, name }: ProxyContext, cwd: unknown): Promise<ReadonlySet<string>> {
  const { items } = await store.listConversations({
    kind: 'main',
    trashed: true,
    limit: mostDeleted,
    ...(typeof cwd === 'string' ? { directory: directoryOf(cwd) } : {}),
  })
  const deleted = new Set<string>()
  await Promise.all(
    items.map(async ({ id }) => {
      for await (const branch of itemsOf(page => store.listBranches(id, page)))
        for await (const link of itemsOf(page => store.listAgentLinks(branch, page)))
          if (link.agent === name) deleted.add(link.foreignId)
    }),
  )
  return deleted
}

/** Whether only the agent knows a session: neither its id nor a link to it is stored. */
async function isOnlyAgents({ store, name }: ProxyContext, { sessionId }: JsonObject): Promise<boolean> {
  if (typeof sessionId !== 'string') return false
  if (await store.findByAgentLink(name, sessionId)) return false
  return (await findSession(store, sessionId)) === null
}

/** `session/fork`: a branch at the newest message. Uses the agent's own fork if the agent has all messages;
 *  otherwise the history is injected with the first prompt. */
export async function forkRequest(context: ProxyContext, params: JsonObject): Promise<unknown> {
  const sourceId = String(params.sessionId)
  // The agent may have a session from before the proxy.
  const source =
    (await findProxySession(context, sourceId, params)) ?? (await adoptSilently(context, sourceId, params))
  if (!source) return null
  const id = randomUUID()
  const branch = await forkBranch(context.store, await source.branch(), id)
  const { sessionId: _, ...rest } = params
  const session = createProxySession(context, id, rest, branch)
  const { sessionId: __, ...shown } =
    (await forkedByAgent(context, source, session, rest)) ?? (await session.seat.sit())
  session.shown = shown
  return { ...shown, sessionId: id }
}

async function forkedByAgent(
  context: ProxyContext,
  source: ProxySession,
  session: ProxySession,
  params: JsonObject,
): Promise<JsonObject | null> {
  const { store, name, slot, sessions } = context
  const { sessionId } = source.seat
  const branch = await session.branch()
  const { head } = await store.getBranch(branch)
  const agent = await slot.ready()
  if (!agent.capabilities.fork || sessionId === null || head === null || source.seat.seen !== head)
    return null
  try {
    const answer = await agent.request('session/fork', { ...params, sessionId })
    if (!isObject(answer) || typeof answer.sessionId !== 'string') return null
    sessions.link(answer.sessionId, session)
    session.seat.begun(answer.sessionId, head)
    await store.setAgentLink(branch, {
      agent: name,
      directory: session.directory,
      foreignId: answer.sessionId,
      seen: head,
    })
    return answer
  } catch (error) {
    context.log(`the agent's own fork: ${errorText(error)}`)
    return null
  }
}

/** `session/delete`: cancels running prompts, then see `deleteSession`. Deletes the agent's session, too, if
 *  the agent can. */
export async function deleteRequest(context: ProxyContext, params: JsonObject): Promise<unknown> {
  const { store, sessions, name } = context
  const id = String(params.sessionId)
  const open = sessions.get(id)
  if (open) {
    await stopSession(context, open)
    await open.seat.discard()
  }
  const place = await findSession(store, id)
  if (open) sessions.remove(open)
  if (!place) return deleteAgentsOwn(context, id, open !== undefined)
  const links = await collectPages(page => store.listAgentLinks(place.branch, page))
  await deleteSession(store, place)
  const own = links.filter(({ agent: whose }) => whose === name)
  await keepTombstones(context, place.conversation.id, own)
  const agent = await ifThere(context)
  if (!agent?.capabilities.delete) return {}
  for (const { foreignId } of own)
    await agent.request('session/delete', { sessionId: foreignId }).catch(() => undefined)
  return {}
}

/** Marks a link whose session was deleted, in place of its directory. */
const deletedPrefix = 'deleted:'

/** If a fork keeps the conversation, its branch keeps the links of the deleted session: an agent that cannot
 *  delete still lists it. A link with such a directory is never used to open a session. */
async function keepTombstones(
  { store }: ProxyContext,
  conversationId: ConversationId,
  links: readonly AgentLink[],
): Promise<void> {
  if ((await store.getConversation(conversationId)).trashedAt !== null) return
  const [branch] = (await store.listBranches(conversationId, { limit: 1 })).items
  for (const { agent, foreignId } of branch ? links : [])
    await store.setAgentLink(branch!, {
      agent,
      foreignId,
      directory: `${deletedPrefix}${foreignId}`,
      seen: null,
    })
}

/** Whether a session of the agent was deleted here. */
export async function isDeletedHere(context: ProxyContext, sessionId: string): Promise<boolean> {
  const { store, name } = context
  const found = await store.findByAgentLink(name, sessionId)
  if (!found) return (await deletedHere(context, undefined)).has(sessionId)
  const links = await collectPages(page => store.listAgentLinks(found.branch, page))
  return links.some(link => link.foreignId === sessionId && link.directory.startsWith(deletedPrefix))
}

/** Deletes a session that only the agent may know. An unknown session is not an error. */
async function deleteAgentsOwn(context: ProxyContext, id: string, isOurs: boolean): Promise<JsonObject> {
  const agent = isOurs ? null : await ifThere(context)
  if (agent?.capabilities.delete)
    await agent.request('session/delete', { sessionId: id }).catch(() => undefined)
  return {}
}

/** `session/close`: cancels running prompts, and closes the agent's session, if the agent can. */
export async function closeRequest(context: ProxyContext, params: JsonObject): Promise<unknown> {
  const { sessions } = context
  const session = sessions.get(String(params.sessionId))
  if (!session) return {}
  await stopSession(context, session)
  await session.seat.close()
  const { sessionId } = session.seat
  const agent = sessionId === null ? null : await ifThere(context)
  if (agent?.capabilities.close && sessionId !== null)
    await agent.request('session/close', { sessionId }).catch(() => undefined)
  await session.seat.idle()
  sessions.remove(session)
  return {}
}
