import { z } from 'zod'
import { approvalJson } from '../../api/approval.ts'
import { answeredApprovalSchema, approvalSchema, approvalsSchema } from '../../api/schema/index.ts'
import { answerApprovalSchema, listApprovalsQuery } from '../../api/schema/request/index.ts'
import type { ListApprovals, StoredApproval } from '../../core/approval.ts'
import { BusyError } from '../../core/errors.ts'
import { conversationId } from '../../core/ids.ts'
import { HttpError } from '../http/http-error.ts'
import { type Caller, json, type Route, route } from '../http/route.ts'
import { keptModel } from './ask.ts'
import type { RouteContext } from './route-context.ts'

const tag = 'Approvals'
const ofConversation = z.strictObject({ id: z.string().describe('full id of a conversation') })
const ofApproval = z.strictObject({
  id: z.string().describe('full id of a conversation'),
  approval: z.string(),
})

/** Calls that wait for a person. */
export function approvalRoutes(context: RouteContext): readonly Route[] {
  const listed = { 200: { description: 'The newest first, at most 1,000', schema: approvalsSchema } }
  return [
    route({
      method: 'get',
      path: '/approvals',
      operation: 'listAllApprovals',
      scope: 'read',
      tag,
      summary: 'List the calls of all conversations that wait for an approval',
      query: listApprovalsQuery,
      responses: listed,
      handle: async ({ query, caller }) => json(await listOf(caller, query)),
    }),
    route({
      method: 'get',
      path: '/conversations/{id}/approvals',
      operation: 'listApprovals',
      scope: 'read',
      tag,
      summary: 'List the calls of a conversation that wait for an approval',
      params: ofConversation,
      query: listApprovalsQuery,
      responses: listed,
      async handle({ params, query, caller }) {
        return json(await listOf(caller, { ...query, conversationId: conversationId(params.id, 'id') }))
      },
    }),
    route({
      method: 'get',
      path: '/conversations/{id}/approvals/{approval}',
      operation: 'getApproval',
      scope: 'read',
      tag,
      summary: 'Read an approval, answered or not',
      params: ofApproval,
      responses: { 200: { description: 'The approval', schema: approvalSchema } },
      async handle({ params, caller: { store } }) {
        const found = await store.getApproval(conversationId(params.id, 'id'), params.approval)
        return json(approvalJson(found))
      },
    }),
    route({
      method: 'post',
      path: '/conversations/{id}/approvals/{approval}',
      operation: 'answerApproval',
      scope: 'ask',
      tag,
      summary: 'Answer an approval',
      description:
        'Of several answers, one succeeds; the others get 409, as does an answer to a call whose conversation ' +
        'has continued without it. When the last waiting call of the turn is answered, the turn continues: ' +
        'allowed calls run, and the model is told about denied ones.',
      params: ofApproval,
      body: answerApprovalSchema,
      responses: { 200: { description: 'The answer is stored', schema: answeredApprovalSchema } },
      async handle({ params, body, caller }) {
        const { store, token } = caller
        const { answer, comment = null, by = token.name, resume = true } = body
        const id = conversationId(params.id, 'id')
        const approval = await store.answerApproval(id, params.approval, { answer, comment, by })
        const resumed = resume && (await resumeTurn(context, caller, approval))
        return json({ approval: approvalJson(approval), resumed })
      },
    }),
  ]
}

async function listOf({ store }: Caller, { status, ...filter }: Unset<ListApprovals>) {
  const wanted = { ...filter, ...(status !== undefined && { status }) } as ListApprovals
  return { approvals: (await store.listApprovals(wanted)).map(approvalJson) }
}

type Unset<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** Continues the turn of an approval, unless other calls of it wait. The answer is stored already: if the
 *  turn cannot continue here and now, another process continues it. */
async function resumeTurn(
  { agentOf, turns }: RouteContext,
  { store, token, requestId }: Caller,
  { conversationId: id, turn: key }: StoredApproval,
): Promise<boolean> {
  const waiting = await store.listApprovals({ conversationId: id })
  const turn = await store.findTurn(id, key)
  if (!agentOf || !turn || waiting.some(other => other.turn === key)) return false
  try {
    const agent = await agentOf(token.tenant, keptModel(await store.getConversation(id)))
    const branch = { conversationId: id, name: turn.branch }
    await turns.start({ tenant: token.tenant, branch, key, message: null, agent, store, requestId })
    return true
  } catch (error) {
    if (error instanceof HttpError || error instanceof BusyError) return false
    throw error
  }
}
