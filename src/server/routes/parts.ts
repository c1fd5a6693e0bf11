import { z } from 'zod'
import { eventJson } from '../../api/event.ts'
import { pageJson } from '../../api/receipt.ts'
import { eventSchema, pageSchema, stretchSchema, summarySchema, turnSchema } from '../../api/schema/index.ts'
import {
  listEventsQuery,
  listTurnsQuery,
  orderedPageQuery,
  pageQuery,
} from '../../api/schema/request/index.ts'
import { stretchJson } from '../../api/stretch.ts'
import { summaryJson } from '../../api/summary.ts'
import { turnJson } from '../../api/turn.ts'
import { NotFoundError } from '../../core/errors.ts'
import { conversationId } from '../../core/ids.ts'
import { findNamedTurn, turnKeyParam } from '../http/idempotency.ts'
import { json, type Route, route } from '../http/route.ts'
import { defined } from './defined-fields.ts'
import { isLiveAt } from './read-overview.ts'
import type { RouteContext } from './route-context.ts'

const tag = 'Parts of a conversation'
const params = z.strictObject({ id: z.string().describe('full id of a conversation') })
const ofTurn = z.strictObject({ id: z.string().describe('full id of a conversation'), key: turnKeyParam })

/** Structure, turns, summaries and events of a conversation. */
export function partRoutes({ now }: RouteContext): readonly Route[] {
  const isLive = isLiveAt(now)
  return [
    route({
      method: 'get',
      path: '/conversations/{id}/structure',
      operation: 'getStructure',
      scope: 'read',
      tag,
      summary: 'Read the shape of a conversation without its contents',
      params,
      query: pageQuery,
      responses: { 200: { description: 'Ranges without a fork, by seq', schema: pageSchema(stretchSchema) } },
      async handle({ params, query, caller: { store } }) {
        const page = await store.listStretches(conversationId(params.id, 'id'), defined(query))
        return json(pageJson(page, stretchJson))
      },
    }),
    route({
      method: 'get',
      path: '/conversations/{id}/turns',
      operation: 'listTurns',
      scope: 'read',
      tag,
      summary: 'List the turns of a conversation',
      params,
      query: listTurnsQuery,
      responses: { 200: { description: 'In the order in which they began', schema: pageSchema(turnSchema) } },
      async handle({ params, query, caller: { store } }) {
        const page = await store.listTurns(conversationId(params.id, 'id'), defined(query))
        return json(pageJson(page, turn => turnJson(turn, isLive)))
      },
    }),
    route({
      method: 'get',
      path: '/conversations/{id}/turns/{key}',
      operation: 'getTurn',
      scope: 'read',
      tag,
      summary: 'Read a turn: whether it is open, and how it ended',
      params: ofTurn,
      responses: { 200: { description: 'The turn', schema: turnSchema } },
      async handle({ params, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const turn = await findNamedTurn(store, id, params.key)
        if (!turn) throw new NotFoundError('turn', params.key)
        return json(turnJson(turn, isLive))
      },
    }),
    route({
      method: 'get',
      path: '/conversations/{id}/summaries',
      operation: 'listSummaries',
      scope: 'read',
      tag,
      summary: 'List the summaries of a conversation',
      params,
      query: orderedPageQuery,
      responses: { 200: { description: 'Sorted by their last message', schema: pageSchema(summarySchema) } },
      async handle({ params, query, caller: { store } }) {
        const page = await store.listSummaries(conversationId(params.id, 'id'), defined(query))
        return json(pageJson(page, summaryJson))
      },
    }),
    route({
      method: 'get',
      path: '/conversations/{id}/events',
      operation: 'listEvents',
      scope: 'read',
      tag,
      summary: 'List the trace records of a conversation',
      params,
      query: listEventsQuery,
      responses: {
        200: { description: 'In the order in which they were added', schema: pageSchema(eventSchema) },
      },
      async handle({ params, query, caller: { store } }) {
        const page = await store.listEvents(conversationId(params.id, 'id'), defined(query))
        return json(pageJson(page, eventJson))
      },
    }),
  ]
}
