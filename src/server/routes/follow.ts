import { z } from 'zod'
import { followStreamSchema } from '../../api/schema/index.ts'
import { InvalidError } from '../../core/errors.ts'
import { conversationId } from '../../core/ids.ts'
import { notAnId, readEventId } from '../follow/event-id.ts'
import { followStream } from '../follow/follow-stream.ts'
import { type Route, route } from '../http/route.ts'
import { eventStreamHeaders } from '../turns/event-stream.ts'
import { isLiveAt } from './read-overview.ts'
import type { RouteContext } from './route-context.ts'

/** Most conversations whose contents one stream sends. */
const mostConversations = 20

/** A stream ends after this time, and the client reconnects: a revoked token works no longer. */
const longestMs = 900_000

const query = z.strictObject({
  conversation: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('full id of a conversation whose contents are sent, up to 20 times'),
  tasks: z.enum(['true', 'false']).optional().describe('true: also sends changes of all tasks'),
  after: z.string().optional().describe('the id of the last event, as the header Last-Event-ID'),
})

/** Live events. */
export function followRoutes({ metrics, now, closing }: RouteContext): readonly Route[] {
  let streams = 0
  const count = (change: number) => {
    streams += change
    metrics.followers(streams)
  }
  return [
    route({
      method: 'get',
      path: '/follow',
      operation: 'follow',
      scope: 'read',
      tag: 'Live',
      summary: 'Follow activity, tasks and contents of conversations',
      description:
        'Server-sent events: `activity` of all conversations; with `tasks=true` also `task` and `task_deleted` of ' +
        'all tasks, as states; ' +
        'for each `conversation` also `branches`, `message`, `erased`, `approval`, `turn`, `draft`, `branch`, ' +
        '`branch_deleted`, `conversation` and `gone`. The last event of a stream is `closing`. All others have an ' +
        'id. After a reconnect with the id, every message comes exactly once; activity and tasks may be repeated. ' +
        'A line that begins with a colon is a heartbeat, every 15 seconds. A text that is not the id of an event ' +
        'is refused with 400: connect without it.',
      query,
      headers: { 'Last-Event-ID': 'The id of the last event that was received. Follows from there.' },
      responses: { 200: { description: 'The events', events: followStreamSchema } },
      async handle({ query, request, caller: { store, token }, cutOff }) {
        const given = [query.conversation ?? []].flat()
        if (given.length > mostConversations)
          throw new InvalidError('conversation', `may be given at most ${mostConversations} times`)
        const conversations = [...new Set(given.map(id => conversationId(id, 'conversation')))]
        const header = request.headers.get('last-event-id')
        const after = header ?? query.after
        const expiresIn = token.expiresAt === null ? longestMs : token.expiresAt.getTime() - now()
        try {
          const position = after === undefined || after === '' ? null : readEventId(after)
          count(1)
          const stream = await followStream(store, {
            conversations,
            withTasks: query.tasks === 'true',
            position,
            signal: request.signal,
            shutdown: closing,
            longestMs: Math.max(0, Math.min(longestMs, expiresIn)),
            isLive: isLiveAt(now),
            cutOff,
            onEnd: () => count(-1),
          })
          return new Response(stream, { headers: eventStreamHeaders })
        } catch (error) {
          // A client that sends the id by itself, such as EventSource, must not try it again and again.
          if (!(error instanceof InvalidError) || error.field !== 'after') throw error
          throw notAnId(header === null ? 'after' : 'Last-Event-ID')
        }
      },
    }),
  ]
}
