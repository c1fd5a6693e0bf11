import { isAbsolute } from 'node:path'
import type { AgentContext, ListSessionsResponse, McpServer } from '@agentclientprotocol/sdk/unstable'
import type { BranchRef } from '../../core/branch.ts'
import { pathOf } from '../../core/path.ts'
import type { BranchInConversation } from '../../core/ports.ts'
import { takeOver } from '../../recorder/take-over.ts'
import { deleteSession } from '../delete-session.ts'
import { directoryOf } from '../directory.ts'
import { forkBranch } from '../fork-branch.ts'
import { findPlace } from '../session-id.ts'
import { listSessions } from '../session-list.ts'
import { updatesOf } from '../transcript/updates.ts'
import type { FileAbilities } from './editor-files.ts'
import { badParams, unknownSession } from './refusal.ts'
import type { Served } from './served.ts'
import { openSession, type Session } from './session.ts'
import { dressed } from './tool-shown.ts'

/** What a client says about a session that it opens. */
export interface Wanted {
  readonly cwd: string
  readonly mcpServers?: readonly McpServer[]
}

/** The sessions of a client. */
export interface Sessions {
  /** The client has said what it lets us do with its files. */
  introduced(files: FileAbilities): void
  /** One that is open. Throws what a client is told of an id that nobody knows. */
  get(sessionId: string): Session
  find(sessionId: string): Session | null
  begin(wanted: Wanted): Promise<Session>
  /** One from the store; `show` tells the client all that was said before. */
  open(sessionId: string, wanted: Wanted, options?: { readonly show?: true }): Promise<Session>
  fork(sessionId: string, wanted: Wanted): Promise<Session>
  list(asked: {
    readonly cwd?: string | null
    readonly cursor?: string | null
  }): Promise<ListSessionsResponse>
  delete(sessionId: string): Promise<void>
  close(sessionId: string): Promise<void>
  end(): Promise<void>
}

export function createSessions(
  served: Served,
  client: Pick<AgentContext, 'request' | 'notify'>,
  newId: () => string,
): Sessions {
  const { store, models } = served
  const open = new Map<string, Session>()
  const ends = new Set<Promise<void>>()
  let files: FileAbilities = {}
  let ended = false

  async function start(id: string, wanted: Wanted, place: BranchInConversation | null): Promise<Session> {
    const cwd = checked(wanted.cwd)
    if (ended) throw new Error('the connection has ended')
    // Somebody who asked for the same a moment ago may have been quicker.
    const already = open.get(id)
    if (already) return already
    const before = place?.conversation.model
    const model = models.find(one => one.id === before) ?? models[0]
    const settings = { mode: 'ask', model: model.id } as const
    const branch = place && refOf(place.branch)
    const { mcpServers = [] } = wanted
    const session = openSession(served, { id, cwd, branch, settings, mcpServers, client, files, newId })
    open.set(id, session)
    return session
  }

  async function placeOf(sessionId: string): Promise<BranchInConversation> {
    const place = await findPlace(store, sessionId)
    if (!place) throw unknownSession(sessionId)
    const { owner } = place.conversation
    if (owner !== null)
      throw badParams(
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
      files = can
    },
    get(sessionId) {
      const session = open.get(sessionId)
      if (!session) throw unknownSession(sessionId)
      return session
    },
    find: sessionId => open.get(sessionId) ?? null,
    begin: wanted => start(newId(), wanted, null),
    async open(sessionId, wanted, { show } = {}) {
      const place = await placeOf(sessionId)
      // What had arrived of an answer whose process died is kept now, and shown as well.
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
      // In the client's own words, so that it knows its directory again.
      const sessions = page.sessions.map(one => ({ ...one, ...(typeof cwd === 'string' ? { cwd } : {}) }))
      return { ...page, sessions }
    },
    async delete(sessionId) {
      const isOpen = open.has(sessionId)
      await close(sessionId)
      const place = isOpen ? await findPlace(store, sessionId) : await placeOf(sessionId)
      if (place) await deleteSession(store, place)
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

  /** Everything that was said, in order. */
  async function showPast(session: Session, branch: BranchRef | null): Promise<void> {
    const { head } = branch ? await store.getBranch(branch) : { head: null }
    if (head === null) return
    for (const update of updatesOf(await pathOf(store, head))) await session.tell(dressed(update))
  }
}

function refOf({ conversationId, name }: BranchRef): BranchRef {
  return { conversationId, name }
}

function checked(cwd: string): string {
  if (!isAbsolute(cwd)) throw badParams(`cwd must be an absolute path, got ${cwd}`)
  return directoryOf(cwd)
}
