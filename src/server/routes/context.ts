import { z } from 'zod'
import { nextContext } from '../../agent/next-context.ts'
import { blockJson } from '../../api/block.ts'
import { blockSchema, countSchema, idSchema, otherBlockSchema, roleSchema } from '../../api/schema/index.ts'
import { contextQuery } from '../../api/schema/request/index.ts'
import { conversationId } from '../../core/ids.ts'
import { json, type Route, route } from '../http/route.ts'

const tokensSchema = z.strictObject({
  system: countSchema,
  notes: countSchema,
  summary: countSchema,
  notice: countSchema,
  overhead: countSchema,
  messages: countSchema,
  total: countSchema,
  budget: countSchema.describe('most tokens of a context'),
})

const contextSchema = z
  .strictObject({
    model: z.string(),
    messages: z.array(
      z.strictObject({
        id: idSchema.nullable().describe('the stored message, if there is one'),
        role: roleSchema,
        blocks: z.array(z.union([blockSchema, otherBlockSchema])),
      }),
    ),
    tokens: tokensSchema,
    left: z
      .array(z.strictObject({ reason: z.string(), messages: countSchema, tokens: countSchema }))
      .describe('messages that are not in the context, by reason'),
    older: countSchema.describe('messages of the path before those that were read'),
  })
  .meta({ id: 'Context', description: 'What the next model call sends, without the next prompt.' })

/** What a model would receive. */
export function contextRoutes(): readonly Route[] {
  return [
    route({
      method: 'get',
      path: '/conversations/{id}/context',
      operation: 'getContext',
      scope: 'read',
      tag: 'Turns',
      summary: 'Read what the next model call sends',
      params: z.strictObject({ id: z.string().describe('full id of a conversation') }),
      query: contextQuery,
      responses: { 200: { description: 'The context', schema: contextSchema } },
      async handle({ params, query, caller: { store } }) {
        const conversation = await store.getConversation(conversationId(params.id, 'id'))
        const name = query.branch ?? conversation.activeBranch
        const { head } = await store.getBranch({ conversationId: conversation.id, name })
        const model = query.model ?? conversation.model ?? 'scripted'
        const system = conversation.prompt?.text
        const { fitted, older } = await nextContext(store, head, {
          model,
          ...(query.window !== undefined && { window: { limit: query.window } }),
          ...(system !== undefined && { system }),
        })
        return json({
          model,
          messages: fitted.messages.map(({ id = null, role, content }) => ({
            id,
            role,
            blocks: content.map(blockJson),
          })),
          tokens: fitted.tokens,
          left: fitted.left.map(({ reason, messages, tokens }) => ({ reason, messages, tokens })),
          older,
        })
      },
    }),
  ]
}
