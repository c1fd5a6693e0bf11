import { z } from 'zod'
import { branchHeadJson, branchJson } from '../../api/branch.ts'
import { createBranchPageReader } from '../../api/read-branches.ts'
import { pageJson } from '../../api/receipt.ts'
import { branchHeadSchema, branchSchema, doneSchema, pageSchema } from '../../api/schema/index.ts'
import { branchPatchSchema, forkSchema, pageQuery } from '../../api/schema/request/index.ts'
import type { Branch, BranchRef } from '../../core/branch.ts'
import { PreconditionFailedError } from '../../core/conditional-writer.ts'
import { KeyReusedError } from '../../core/errors.ts'
import { type ConversationId, conversationId, type MessageId, messageId } from '../../core/ids.ts'
import { idempotencyHeader, idempotencyKey } from '../http/idempotency.ts'
import { ifMatchHeader, writesIfMatch } from '../http/precondition.ts'
import { type Caller, json, type Route, route } from '../http/route.ts'
import { createSibling } from './create-sibling.ts'
import { defined } from './defined-fields.ts'
import { findBranch } from './find-branch.ts'

const tag = 'Branches'
const ofConversation = z.strictObject({ id: z.string().describe('full id of a conversation') })
const ofBranch = z.strictObject({ id: z.string().describe('full id of a conversation'), name: z.string() })

/** List, fork, rename, move, activate and delete branches. */
export function branchRoutes(): readonly Route[] {
  const readBranchPage = createBranchPageReader()
  return [
    route({
      method: 'get',
      path: '/conversations/{id}/branches',
      operation: 'listBranches',
      scope: 'read',
      tag,
      summary: 'List the branches of a conversation',
      description:
        'Pages are in the order of creation. In a page, the most recently active branch is the last.',
      params: ofConversation,
      query: pageQuery,
      responses: { 200: { description: 'A page of branches', schema: pageSchema(branchSchema) } },
      async handle({ params, query, caller: { store } }) {
        const page = await readBranchPage(store, conversationId(params.id, 'id'), defined(query))
        return json(pageJson(page, branchJson))
      },
    }),
    route({
      method: 'post',
      path: '/conversations/{id}/branches',
      operation: 'createBranch',
      scope: 'write',
      tag,
      summary: 'Fork: create a branch at any message',
      description:
        'One row is written, no message is copied. An Idempotency-Key is the name, unless one is given.',
      params: ofConversation,
      body: forkSchema,
      bodyOptional: true,
      headers: { ...idempotencyHeader, ...ifMatchHeader },
      responses: {
        201: { description: 'The new branch', schema: branchHeadSchema },
        200: { description: 'A retry: the branch that was created before', schema: branchHeadSchema },
      },
      async handle({ params, body = {}, request, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const writes = await writesIfMatch(request, store, id)
        const from = body.from ?? (await store.getConversation(id)).activeBranch
        const at = body.at === undefined ? await headOf(store, id, from) : idOrNull(body.at, 'at')
        const key = idempotencyKey(request)
        const name = body.name ?? key
        const more = {
          ...(body.key != null && { key: body.key }),
          ...(body.title != null && { title: body.title }),
        }
        if (name === null) {
          const { createBranch } = writes
          const sibling = await createSibling(
            { listBranches: store.listBranches, createBranch },
            id,
            at,
            from,
            more,
          )
          return json(branchHeadJson(sibling), 201)
        }
        try {
          return json(branchHeadJson(await writes.createBranch(id, at, { name, ...more })), 201)
        } catch (error) {
          const isTaken = error instanceof KeyReusedError || error instanceof PreconditionFailedError
          if (!isTaken || key === null) throw error
          const before = await findBranch(store, { conversationId: id, name })
          if (before === null) throw error
          return json(branchHeadJson(before), 200)
        }
      },
    }),
    route({
      method: 'patch',
      path: '/conversations/{id}/branches/{name}',
      operation: 'updateBranch',
      scope: 'write',
      tag,
      summary: 'Move, rename or activate a branch, or change its key',
      description: 'Changes are applied one after the other: head, key, active, name.',
      params: ofBranch,
      body: branchPatchSchema,
      headers: ifMatchHeader,
      responses: { 200: { description: 'The branch as it is now', schema: branchHeadSchema } },
      async handle({ params, body, request, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        let writes = await writesIfMatch(request, store, id)
        const ref: BranchRef = { conversationId: id, name: params.name }
        let branch: Branch = await store.getBranch(ref)
        if (body.head !== undefined) {
          const expected = idOrNull(body.expected_head ?? null, 'expected_head')
          branch = await writes.moveBranch(ref, expected, idOrNull(body.head, 'head'))
          // The first change is conditional, and changes the version.
          writes = store
        }
        if (body.key !== undefined) {
          branch = await writes.setKey(ref, body.key)
          writes = store
        }
        if (body.active) {
          await writes.activateBranch(ref)
          writes = store
        }
        if (body.name !== undefined && body.name !== ref.name)
          branch = await writes.renameBranch(ref, body.name)
        return json(branchHeadJson(branch))
      },
    }),
    route({
      method: 'delete',
      path: '/conversations/{id}/branches/{name}',
      operation: 'deleteBranch',
      scope: 'write',
      tag,
      summary: 'Delete a branch, and keep its messages',
      params: ofBranch,
      headers: ifMatchHeader,
      responses: { 200: { description: 'It is deleted', schema: doneSchema } },
      async handle({ params, request, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const writes = await writesIfMatch(request, store, id)
        await writes.deleteBranch({ conversationId: id, name: params.name })
        return json({ success: true, message: 'deleted' })
      },
    }),
  ]
}

async function headOf(store: Caller['store'], id: ConversationId, name: string): Promise<MessageId | null> {
  return (await store.getBranch({ conversationId: id, name })).head
}

function idOrNull(text: string | null, field: string): MessageId | null {
  return text === null ? null : messageId(text, field)
}
