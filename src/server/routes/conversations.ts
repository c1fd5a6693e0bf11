import { z } from 'zod'
import { conversationJson } from '../../api/conversation.ts'
import { listConversationsOf } from '../../api/list-conversations.ts'
import { conversationPatchOf, newConversationOf } from '../../api/new-conversation.ts'
import { pageJson } from '../../api/receipt.ts'
import { conversationSchema, doneSchema, pageSchema, resetDoneSchema } from '../../api/schema/index.ts'
import {
  conversationPatchSchema,
  findOrCreateSchema,
  listConversationsQuery,
  metadataQuery,
  type NewConversationBody,
  newConversationSchema,
  resetSchema,
} from '../../api/schema/request/index.ts'
import type { Branch } from '../../core/branch.ts'
import { type ConditionalWrites, PreconditionFailedError } from '../../core/conditional-writer.ts'
import { AmbiguousIdError, InvalidError, KeyReusedError, NotFoundError } from '../../core/errors.ts'
import { type ConversationId, conversationId } from '../../core/ids.ts'
import { archiveNameOf, idempotencyHeader, idempotencyKey, idFromKey } from '../http/idempotency.ts'
import { etagOf, ifMatchHeader, writesIfMatch } from '../http/precondition.ts'
import { type Caller, json, type Route, route } from '../http/route.ts'
import { findBranch } from './find-branch.ts'
import { isLiveAt, overviewAt, readOverview } from './read-overview.ts'
import type { RouteContext } from './route-context.ts'

const tag = 'Conversations'
const params = z.strictObject({ id: z.string().describe('full id of a conversation') })
const keyParams = z.strictObject({ key: z.string().describe('such as discord:dm:42') })

const foundSchema = z
  .strictObject({
    created: z.boolean().describe('the conversation is new'),
    branch: z.string().describe('the branch with the key'),
    conversation: conversationSchema,
  })
  .meta({ id: 'FoundOrCreated', description: 'The branch with a key, and its conversation.' })

const restoredSchema = z
  .strictObject({
    conversation: conversationSchema,
    keys_taken: z.array(z.string()).describe('keys that another branch has taken in the meantime'),
  })
  .meta({ id: 'Restored', description: 'A conversation that was taken out of the trash.' })

/** List, create, find or create, change, trash, restore, reset. */
export function conversationRoutes({ now, metrics }: RouteContext): readonly Route[] {
  const isLive = isLiveAt(now)

  return [
    route({
      method: 'get',
      path: '/conversations',
      operation: 'listConversations',
      scope: 'read',
      tag,
      summary: 'List conversations, most recently used first',
      description:
        'All filters must match. An empty value of channel, directory, project or task asks for conversations ' +
        'without one.',
      query: listConversationsQuery,
      openQuery: metadataQuery,
      responses: { 200: { description: 'A page of conversations', schema: pageSchema(conversationSchema) } },
      async handle({ query, caller: { store } }) {
        const page = await store.listConversations(listConversationsOf(query))
        const overviews = await store.readOverviews(page.items)
        return json(pageJson({ ...page, items: overviews }, one => conversationJson(one, isLive)))
      },
    }),
    route({
      method: 'post',
      path: '/conversations',
      operation: 'createConversation',
      scope: 'write',
      tag,
      summary: 'Create a conversation',
      description:
        'The id follows from the Idempotency-Key and the body: a retry finds the conversation, also after it was ' +
        'changed, and the same key with another body is refused with 422.',
      body: newConversationSchema,
      bodyOptional: true,
      headers: idempotencyHeader,
      responses: {
        201: { description: 'The new conversation', schema: conversationSchema },
        200: { description: 'A retry: the conversation that was created before', schema: conversationSchema },
      },
      async handle({ body, request, caller }) {
        const { id, created } = await create(body ?? {}, idempotencyKey(request), caller)
        const overview = await readOverview(caller.store, id)
        return json(conversationJson(overview, isLive), created ? 201 : 200, {
          etag: etagOf(overview.conversation.version),
          location: `/api/v1/conversations/${id}`,
        })
      },
    }),
    route({
      method: 'put',
      path: '/keys/{key}',
      operation: 'findOrCreateByKey',
      scope: 'write',
      tag,
      summary: 'Find the branch with a key, or create a conversation',
      description: 'Atomic across processes. An expired conversation gives the key up.',
      params: keyParams,
      body: findOrCreateSchema,
      bodyOptional: true,
      responses: {
        200: { description: 'The key existed', schema: foundSchema },
        201: { description: 'A conversation was created', schema: foundSchema },
      },
      async handle({ params: { key }, body, caller: { store } }) {
        const found = await store.findOrCreate(key, newConversationOf(body ?? {}))
        metrics.resumed(found.created ? 'created' : 'found')
        const overview = await overviewAt(store, found)
        const conversation = conversationJson(overview, isLive)
        const status = found.created ? 201 : 200
        return json({ created: found.created, branch: found.branch.name, conversation }, status)
      },
    }),
    route({
      method: 'patch',
      path: '/conversations/{id}',
      operation: 'updateConversation',
      scope: 'write',
      tag,
      summary: 'Change fields of a conversation',
      params,
      body: conversationPatchSchema,
      headers: ifMatchHeader,
      responses: { 200: { description: 'The conversation as it is now', schema: conversationSchema } },
      async handle({ params, body, request, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const writes = await writesIfMatch(request, store, id)
        await writes.updateConversation(id, conversationPatchOf(body))
        const overview = await readOverview(store, id)
        const etag = etagOf(overview.conversation.version)
        return json(conversationJson(overview, isLive), 200, { etag })
      },
    }),
    route({
      method: 'delete',
      path: '/conversations/{id}',
      operation: 'trashConversation',
      scope: 'write',
      tag,
      summary: 'Move a conversation to the trash',
      description: 'It can be restored for at least seven days.',
      params,
      headers: ifMatchHeader,
      responses: { 200: { description: 'It is in the trash', schema: doneSchema } },
      async handle({ params, request, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const writes = await writesIfMatch(request, store, id)
        if (!(await writes.trash(id))) {
          const { trashedAt } = await store.getConversation(id)
          throw new NotFoundError('conversation', id, { trashed: trashedAt !== null })
        }
        return json({ success: true, message: 'moved to the trash' })
      },
    }),
    route({
      method: 'post',
      path: '/conversations/{id}/restore',
      operation: 'restoreConversation',
      scope: 'write',
      tag,
      summary: 'Take a conversation out of the trash',
      params,
      responses: { 200: { description: 'The conversation', schema: restoredSchema } },
      async handle({ params, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const { keysTaken } = await store.restore(id)
        const conversation = conversationJson(await readOverview(store, id), isLive)
        return json({ conversation, keys_taken: keysTaken })
      },
    }),
    route({
      method: 'post',
      path: '/conversations/{id}/reset',
      operation: 'resetConversation',
      scope: 'write',
      tag,
      summary: 'Empty a branch, and keep its messages on another one',
      description:
        'With an Idempotency-Key, that branch is named `before-reset:<key>`, also if there were no messages. A ' +
        'retry finds it and empties nothing; the bodies are not compared.',
      params,
      body: resetSchema,
      bodyOptional: true,
      headers: { ...idempotencyHeader, ...ifMatchHeader },
      responses: { 200: { description: 'The branch is empty', schema: resetDoneSchema } },
      async handle({ params, body, request, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const writes = await writesIfMatch(request, store, id)
        const name = body?.branch ?? (await store.getConversation(id)).activeBranch
        const keepPrompt = body?.keep_system_message ?? true
        const key = idempotencyKey(request)
        const archiveAs = key === null ? {} : { archiveAs: archiveNameOf(key) }
        const reset = () => writes.reset({ conversationId: id, name }, { keepPrompt, ...archiveAs })
        const archived = key === null ? (await reset()).archived : await resetOnce(store, id, key, reset)
        const message =
          archived === null || archived.head === null
            ? 'there were no messages'
            : `the messages are on branch ${archived.name}`
        return json({
          success: true,
          message,
          conversation: id,
          branch: name,
          archived: archived?.name ?? null,
        })
      },
    }),
  ]
}

/** Resets a branch, unless a request with the same key has done so. Returns the branch with its messages. */
async function resetOnce(
  store: Caller['store'],
  conversationId: ConversationId,
  key: string,
  reset: () => ReturnType<ConditionalWrites['reset']>,
): Promise<Branch | null> {
  const ref = { conversationId, name: archiveNameOf(key) }
  const before = await findBranch(store, ref)
  if (before !== null) return before
  try {
    return (await reset()).archived
  } catch (error) {
    // Another request with the key was first, at the same moment.
    const isTaken = error instanceof KeyReusedError || error instanceof PreconditionFailedError
    const made = isTaken ? await findBranch(store, ref) : null
    if (made === null) throw error
    return made
  }
}

/** Creates a conversation. With an idempotency key, its id follows from the key and the body, so a retry
 *  finds it. Throws KeyReusedError if the key was used with another body. */
async function create(
  body: NewConversationBody,
  key: string | null,
  { store, token }: Caller,
): Promise<{ readonly id: string; readonly created: boolean }> {
  const given = newConversationOf(body)
  if (key === null) return { id: (await store.create(given)).conversation.id, created: true }
  if (given.id !== undefined)
    throw new InvalidError('Idempotency-Key', 'an id in the body names the request already')
  const { id, formerId, prefix } = idFromKey(token.tenant, key, body)
  const found = await findByPrefix(store, prefix)
  if (found.includes(id)) return { id, created: false }
  if (found.includes(formerId)) return { id: formerId, created: false }
  if (found.length > 0)
    throw new KeyReusedError(key, 'the Idempotency-Key was used for a conversation with other fields', {
      hint: `Use another key, or change the conversation: PATCH /api/v1/conversations/${found[0]}`,
    })
  try {
    await store.create({ ...given, id })
    return { id, created: true }
  } catch (error) {
    // The same request was first, at the same moment. A key in the body is taken then, too.
    const isRetry = error instanceof KeyReusedError && (await store.versionsOf([id])).has(id)
    if (isRetry) return { id, created: false }
    throw error
  }
}

/** The conversations whose ids have this beginning, also in the trash. Usually there is at most one. */
async function findByPrefix(
  store: Pick<Caller['store'], 'resolve'>,
  prefix: string,
): Promise<readonly string[]> {
  try {
    return [(await store.resolve(prefix)).conversation.id]
  } catch (error) {
    if (error instanceof NotFoundError) return []
    if (error instanceof AmbiguousIdError) return error.candidates.map(candidate => candidate.id)
    throw error
  }
}
