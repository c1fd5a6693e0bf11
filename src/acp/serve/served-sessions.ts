import { isAbsolute } from 'node:path'
import type {
  AgentContext,
  ClientCapabilities,
  ListSessionsResponse,
  McpServer,
  PlanEntry,
  SessionUpdate,
} from '@agentclientprotocol/sdk/unstable'
import { callKind, callTitle } from '../../agent/approval/call-details.ts'
import { planEntries, planToolName } from '../../agent/coding/plan-tool.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { JsonObject } from '../../core/json.ts'
import type { BranchInConversation } from '../../core/ports.ts'
import { takeOver } from '../../recorder/take-over.ts'
import { deleteSession } from '../sessions/delete-session.ts'
import { directoryOf } from '../sessions/directory.ts'
import { forkBranch } from '../sessions/fork-branch.ts'
import { findSession } from '../sessions/session-id.ts'
import { listSessions } from '../sessions/session-list.ts'
import { type TerminalKey, terminalKeyOf } from '../transcript/call-update.ts'
import { replayPath } from '../transcript/replay-updates.ts'
import type { ClientServices } from './editor-workspace.ts'
import { invalidParamsError, unknownSessionError } from './request-error.ts'
import type { ServeOptions } from './serve-options.ts'
import { createServedSession, type ServedSession } from './served-session.ts'

/** The parameters of a request that opens a session. */
export interface SessionRequest {
  readonly cwd: string
  readonly mcpServers?: readonly McpServer[]
  readonly additionalDirectories?: readonly string[] | null
}

/** The sessions of a client. */
export interface ServedSessions {
  /** Sets what the client does for us, and how it shows terminals. */
  introduced(capabilities: ClientCapabilities | undefined): void
  /** An open session. Throws the error for an unknown session. */
  get(sessionId: string): ServedSession
  find(sessionId: string): ServedSession | null
  begin(wanted: SessionRequest): Promise<ServedSession>
  /** Opens a session from the store. With `show`, sends its messages to the client. */
  open(sessionId: string, wanted: SessionRequest, options?: { readonly show?: true }): Promise<ServedSession>
  fork(sessionId: string, wanted: SessionRequest): Promise<ServedSession>
  list(asked: {
    readonly cwd?: string | null
    readonly cursor?: string | null
  }): Promise<ListSessionsResponse>
  delete(sessionId: string): Promise<void>
  close(sessionId: string): Promise<void>
  end(): Promise<void>
}

export function createServedSessions(
  served: ServeOptions,
  client: Pick<AgentContext, 'request' | 'notify'>,
  newId: () => string,
): ServedSessions {
  const { store, models } = served
  const open = new Map<string, ServedSession>()
  const ends = new Set<Promise<void>>()
  let services: ClientServices = {}
  let terminalKey: TerminalKey = null
  let ended = false

  async function start(
    id: string,
    wanted: SessionRequest,
    place: BranchInConversation | null,
  ): Promise<ServedSession> {
    const cwd = checked(wanted.cwd)
    if (ended) throw new Error('the connection has ended')
    // A concurrent request may have opened the session already.
    const already = open.get(id)
    if (already) return already
    const before = place?.conversation.model
    const model = models.find(one => one.id === before) ?? models[0]
    const settings = { mode: 'ask', model: model.id } as const
    const branch = place && refOf(place.branch)
    const { mcpServers = [] } = wanted
    const session = createServedSession(served, {
      id,
      cwd,
      branch,
      settings,
      mcpServers,
      client,
      services,
      additionalDirectories: (wanted.additionalDirectories ?? []).map(checked),
      newId,
    })
    open.set(id, session)
    return session
  }

  async function placeOf(sessionId: string): Promise<BranchInConversation> {
    const place = await findSession(store, sessionId)
    if (!place) throw unknownSessionError(sessionId)
    const { owner } = place.conversation
    if (owner !== null)
      throw invalidParamsError(
        `${sessionId} belongs to ${owner}, which alone writes it. To read it: skein show ${sessionId}`,
      )
    return place
  }

  async function close(sessionId: string): Promise<void> {
    const session = open.get(sessionId)
    open.delete(sessionId)
    const ended = session?.end()
    if (!ended) return
    ends.add(ended)
    await ended.finally(() => ends.delete(ended))
  }

  return {
    introduced(can) {
      services = can ?? {}
      terminalKey = terminalKeyOf(can)
    },
    get(sessionId) {
      const session = open.get(sessionId)
      if (!session) throw unknownSessionError(sessionId)
      return session
    },
    find: sessionId => open.get(sessionId) ?? null,
    begin: wanted => start(newId(), wanted, null),
    async open(sessionId, wanted, { show } = {}) {
      // A session without a prompt is not in the store.
      const empty = open.get(sessionId)
      if (empty?.branch === null) return empty
      const place = await placeOf(sessionId)
      // A part of an answer whose process died is stored now, and shown.
      await takeOver(store, place.conversation.id, place.branch.name)
      const session = open.get(sessionId) ?? (await start(sessionId, wanted, place))
      if (show) await session.between(() => showPast(session, session.branch))
      return session
    },
    async fork(sessionId, wanted) {
      const from = open.get(sessionId)
      const branch = from ? from.branch : (await placeOf(sessionId)).branch
      const id = newId()
      if (branch === null) return start(id, wanted, null)
      await forkBranch(store, branch, id)
      return start(id, wanted, await placeOf(id))
    },
    async list({ cwd, cursor }) {
      const directory = typeof cwd === 'string' ? checked(cwd) : null
      const page = await listSessions(store, {
        ...(directory === null ? {} : { cwd: directory }),
        ...(typeof cursor === 'string' ? { cursor } : {}),
      })
      // The client's own path, so that it recognizes its directory.
      const sessions = page.sessions.map(one => ({ ...one, ...(typeof cwd === 'string' ? { cwd } : {}) }))
      return { ...page, sessions }
    },
    async delete(sessionId) {
      const isOpen = open.has(sessionId)
      await close(sessionId)
      const place = await findSession(store, sessionId)
      // An unknown session is deleted already. One with an owner is refused.
      if (place) await deleteSession(store, isOpen ? place : await placeOf(sessionId))
    },
    async close(sessionId) {
      if (!open.has(sessionId)) await placeOf(sessionId)
      await close(sessionId)
    },
    async end() {
      ended = true
      await Promise.allSettled([...[...open.keys()].map(close), ...ends])
    },
  }

  /** Sends all messages, in order. */
  async function showPast(session: ServedSession, branch: BranchRef | null): Promise<void> {
    const { head } = branch ? await store.getBranch(branch) : { head: null }
    if (head === null) return
    let plan: PlanEntry[] | null = null
    for await (const update of replayPath(store, head, terminalKey)) {
      if (update.name === planToolName)
        plan = planEntries(update.rawInput ?? null) as unknown as PlanEntry[] | null
      await session.notify(withToolDetails(update))
    }
    if (plan) await session.notify({ sessionUpdate: 'plan', entries: plan })
  }
}

function refOf({ conversationId, name }: BranchRef): BranchRef {
  return { conversationId, name }
}

function checked(cwd: string): string {
  if (!isAbsolute(cwd)) throw invalidParamsError(`cwd must be an absolute path, got ${cwd}`)
  return directoryOf(cwd)
}

/** A replayed update. A call of our own gets its title and kind again; a call of another agent keeps its
 *  own. */
function withToolDetails(update: JsonObject): SessionUpdate {
  const { sessionUpdate, name, title, rawInput = null, kind } = update
  const isBare =
    sessionUpdate === 'tool_call' && typeof name === 'string' && title === name && kind === 'other'
  const details = isBare ? { title: callTitle(name, rawInput), kind: callKind(name) } : {}
  return { ...update, ...details } as unknown as SessionUpdate
}
