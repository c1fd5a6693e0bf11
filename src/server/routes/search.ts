import { z } from 'zod'
import { searchOptionsOf } from '../../api/list-conversations.ts'
import { pageJson, resolvedJson } from '../../api/receipt.ts'
import {
  countSchema,
  pageSchema,
  resolvedSchema,
  searchHitSchema,
  statsSchema,
} from '../../api/schema/index.ts'
import { metadataQuery, searchQuery } from '../../api/schema/request/index.ts'
import { searchHitJson } from '../../api/search-hit.ts'
import { statsJson, statsMonthMs, statsOf } from '../../api/stats.ts'
import { findTaskTarget } from '../../core/task-target.ts'
import { json, type Route, route } from '../http/route.ts'
import type { RouteContext } from './route-context.ts'

const tag = 'Search'

const foundHitsSchema = z
  .strictObject({
    ...pageSchema(searchHitSchema).shape,
    unindexed: countSchema.describe('messages that were not searched; 0: every message was'),
  })
  .meta({ id: 'SearchPage', description: 'The hits of a search.' })

/** Search messages, resolve what a person typed, and count. */
export function searchRoutes({ now }: RouteContext): readonly Route[] {
  return [
    route({
      method: 'get',
      path: '/search',
      operation: 'search',
      scope: 'read',
      tag,
      summary: 'Search messages',
      description: 'A page with fewer hits than its limit and with a `next` was ended by its time budget.',
      query: searchQuery,
      openQuery: metadataQuery,
      responses: { 200: { description: 'A page of hits', schema: foundHitsSchema } },
      async handle({ query, request, caller: { store } }) {
        const page = await store.search(query.q, { ...searchOptionsOf(query), signal: request.signal })
        return json({ ...pageJson(page, searchHitJson), unindexed: page.unindexed })
      },
    }),
    route({
      method: 'get',
      path: '/resolve/{text}',
      operation: 'resolve',
      scope: 'read',
      tag,
      summary: 'Resolve an id, the beginning of one, a key, id:branch, or task:T-1',
      params: z.strictObject({ text: z.string() }),
      responses: { 200: { description: 'What the text refers to', schema: resolvedSchema } },
      async handle({ params: { text }, caller: { store } }) {
        const task = await findTaskTarget(store, text)
        if (task) return json(resolvedJson({ conversation: task, branch: task.branch, message: null }))
        return json(resolvedJson(await store.resolve(text)))
      },
    }),
    route({
      method: 'get',
      path: '/stats',
      operation: 'getStats',
      scope: 'read',
      tag,
      summary: 'Read counts, usage and cost',
      responses: { 200: { description: 'Of the tenant', schema: statsSchema } },
      async handle({ caller: { store } }) {
        return json(statsJson(statsOf(await store.measure(new Date(now() - statsMonthMs)))))
      },
    }),
  ]
}
