import type { BranchRef } from '../../core/branch.ts'
import { errorText } from '../../core/error-text.ts'
import { InvalidError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { createSeat } from '../seat/seat.ts'
import { directoryOf } from '../sessions/directory.ts'
import { findSession, sessionKeyPrefix } from '../sessions/session-id.ts'
import type { ProxyContext } from './proxy-context.ts'
import type { ProxySession } from './proxy-sessions.ts'

/** A session of the client, with a seat on its branch. The branch of a new session is created with its first
 *  message, so a session without messages leaves nothing in the store. */
export function createProxySession(
  context: ProxyContext,
  id: string,
  params: JsonObject,
  known: BranchRef | null,
): ProxySession {
  const { store, source, name, slot, sessions, limits } = context
  const cwd = typeof params.cwd === 'string' ? params.cwd : process.cwd()
  const directory = directoryOf(cwd)
  let made = known ? Promise.resolve(known) : null
  const branch = () => {
    made ??= make().catch((error: unknown) => {
      made = null
      throw error
    })
    return made
  }
  const session: ProxySession = {
    id,
    directory,
    branch,
    settings: new Map(),
    shown: {},
    setIn: null,
    prompts: new Set(),
    seat: createSeat({
      store,
      source,
      agent: name,
      directory,
      params: { mcpServers: [], ...params, cwd },
      start: slot.ready,
      branch,
      ...context.telling,
      answerMs: limits.answerMs,
      onSilence(method) {
        context.log(noAnswer(method, limits.answerMs))
        slot.restart()
      },
      onSession: sessionId => sessions.link(sessionId, session),
      onStored: context.storeIsBack,
      onLost: () => context.log('storage: lost: more waits for the store than there is room for'),
      onLateFailure: error => context.log(`not recorded yet: ${errorText(error)}`),
    }),
  }
  sessions.add(session)
  return session

  async function make(): Promise<BranchRef> {
    const place = await store.findOrCreate(`${sessionKeyPrefix}${id}`, {
      directory,
      channel: 'acp',
      model: name,
    })
    return place.branch
  }
}

/** A line for the log: the agent is started again. */
export function noAnswer(method: string, ms: number): string {
  return `the agent has not answered ${method} for ${ms / 1_000} s: it is started again`
}

/** The session with this id: open, or from the store. Null if it is unknown. */
export async function findProxySession(
  context: ProxyContext,
  id: string,
  params: JsonObject,
): Promise<ProxySession | null> {
  const open = context.sessions.get(id) ?? (await context.adoptions.get(id)?.done)
  if (open) return open
  const place = await findSession(context.store, id)
  if (!place) return null
  const { directory, owner } = place.conversation
  if (owner !== null)
    throw new InvalidError('session', `${id} belongs to ${owner}, which alone writes it: skein show ${id}`)
  const { sessionId: _, ...rest } = params
  const cwd = typeof rest.cwd === 'string' ? rest.cwd : (directory ?? process.cwd())
  return context.sessions.get(id) ?? createProxySession(context, id, { ...rest, cwd }, place.branch)
}
