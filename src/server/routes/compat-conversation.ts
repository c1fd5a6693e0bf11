import { z } from 'zod'
import { compatConversationJson, compatMessageJson, compatPromptJson } from '../../api/compat.ts'
import { compatConversationSchema } from '../../api/schema/index.ts'
import { compatQuery, taskQuery } from '../../api/schema/request/index.ts'
import { NotFoundError } from '../../core/errors.ts'
import { conversationId } from '../../core/ids.ts'
import type { ConversationOverview } from '../../core/overview.ts'
import { newestOfTask } from '../../core/task-target.ts'
import { etagOf, isNotModified } from '../http/precondition.ts'
import { type Caller, type Route, type RouteInput, route } from '../http/route.ts'
import { streamed } from '../http/stream.ts'
import { type CacheKey, createConversationCache, largestCachedBody } from './conversation-cache.ts'
import { isLiveAt, readOverview } from './read-overview.ts'
import type { RouteContext } from './route-context.ts'

const tag = 'Conversations'
const params = z.strictObject({ id: z.string() })

/** The parts of a request that every response needs. */
type Sent = Pick<RouteInput<unknown, unknown, unknown>, 'caller' | 'request' | 'cutOff'>

/** The messages of the path to return. */
interface CompatRange {
  readonly limit?: number | undefined
  readonly before?: number | undefined
}

/** A whole conversation with the messages of its active branch, by its id or by its task. */
export function compatConversationRoutes({ now }: RouteContext): readonly Route[] {
  const isLive = isLiveAt(now)
  const cache = createConversationCache()
  const responses = { 200: { description: 'The conversation', schema: compatConversationSchema } }

  async function respond({ caller, request, cutOff }: Sent, id: string, range: CompatRange) {
    const { store, token } = caller
    const version = await store.versionOf(id)
    const headers = { ...jsonHeaders, etag: etagOf(version) }
    if (isNotModified(request, version)) return new Response(null, { status: 304, headers })
    const part = JSON.stringify([range.limit, range.before])
    const key: CacheKey = { tenant: token.tenant, id, version, part }
    const cached = cache.get(key)
    if (cached !== undefined) return new Response(cached, { headers })
    const overview = await readOverview(store, id)
    const { trashedAt } = overview.conversation
    if (trashedAt !== null) throw new NotFoundError('conversation', id, { trashed: true })
    const pieces = bodyOf(caller, overview, range)
    // Whether an open turn is live depends on the time, and not only on the version.
    const keep = overview.openTurns.length === 0 ? (body: string) => cache.set(key, body) : null
    return streamed(keep === null ? pieces : kept(pieces, keep), { headers, cutOff })
  }

  async function* bodyOf({ store }: Caller, overview: ConversationOverview, range: CompatRange) {
    const { conversation, pathMessages } = overview
    const end = Math.min(range.before ?? pathMessages, pathMessages)
    const from = range.limit === undefined ? 0 : Math.max(0, end - range.limit)
    const fields = JSON.stringify(compatConversationJson(overview, isLive))
    yield `${fields.slice(0, -1)},"messages":[`
    let comma = ''
    const prompt = from === 0 ? compatPromptJson(conversation) : null
    if (prompt !== null) {
      yield JSON.stringify(prompt)
      comma = ','
    }
    const { head } = conversation.branch
    let after: string | undefined
    for (let left = head === null ? 0 : end - from; left > 0; ) {
      const page = {
        limit: Math.min(left, pageSize),
        ...(after === undefined ? { fromDepth: from } : { after }),
      }
      const { items, next } = await store.listPath(head!, page)
      for (const message of items) {
        yield comma + JSON.stringify(compatMessageJson(message))
        comma = ','
      }
      left -= items.length
      if (next === null || items.length === 0) break
      after = next
    }
    yield ']}'
  }

  return [
    route({
      method: 'get',
      path: '/conversations/{id}',
      operation: 'getConversation',
      scope: 'read',
      tag,
      summary: 'Read a conversation with the messages of its active branch',
      description:
        'The response is streamed. `limit` and `before` page through the messages from the newest: pass the ' +
        '`depth` of the first message of a page as `before` of the next one. The last page begins with the ' +
        'stored system prompt, whose depth is null, or with depth 0.',
      params,
      query: compatQuery,
      headers: { 'If-None-Match': 'The ETag of an earlier response. 304 if nothing has changed.' },
      responses: { ...responses, 304: { description: 'Nothing has changed' } },
      handle: ({ params, query, ...sent }) => respond(sent, conversationId(params.id, 'id'), query),
    }),
    ...(['beads', 'tasks'] as const).map(noun =>
      route({
        method: 'get',
        path: `/${noun}/{id}/conversation`,
        operation: noun === 'tasks' ? 'getTaskConversation' : 'getBeadConversation',
        scope: 'read',
        tag,
        summary: `Read the newest conversation of a ${noun === 'tasks' ? 'task' : 'bead (another word for task)'}`,
        description:
          'Without `project`, the task is found in any project. If several projects have it: 400, and `project` ' +
          'is required. An empty `project` asks for a task without one.',
        params: z.strictObject({ id: z.string().describe('the task') }),
        query: taskQuery,
        responses,
        async handle({ params: { id: task }, query: { project, ...range }, ...sent }) {
          const { store } = sent.caller
          const own = project ?? (await newestOfTask(store, { task }))?.project ?? ''
          const found = await store.findByTask(task, own === '' ? null : own)
          if (!found) throw new NotFoundError('id', task)
          return respond(sent, found.conversation.id, range)
        },
      }),
    ),
  ]
}

/** Messages of one read. With 200, a conversation of 100,000 messages took twice the memory. */
const pageSize = 50

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' }

/** Passes pieces on, and keeps the whole text if it is small and complete. */
async function* kept(pieces: AsyncIterable<string>, keep: (body: string) => void): AsyncGenerator<string> {
  let body: string | null = ''
  for await (const piece of pieces) {
    if (body !== null) body = body.length + piece.length > largestCachedBody ? null : body + piece
    yield piece
  }
  if (body !== null) keep(body)
}
