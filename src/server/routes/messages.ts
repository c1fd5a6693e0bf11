import { z } from 'zod'
import { sectionJson, storedMessageJson } from '../../api/message.ts'
import { newMessageOf } from '../../api/new-message.ts'
import { appendedJson, pageJson } from '../../api/receipt.ts'
import {
  appendedSchema,
  countSchema,
  idSchema,
  messageSchema,
  pageSchema,
  storedMessageSchema,
  timeSchema,
  turnSchema,
} from '../../api/schema/index.ts'
import {
  appendSchema,
  deleteMessageQuery,
  eraseSchema,
  labelSchema,
  listMessagesQuery,
} from '../../api/schema/request/index.ts'
import { turnJson } from '../../api/turn.ts'
import { type ConditionalWrites, PreconditionFailedError } from '../../core/conditional-writer.ts'
import { ConflictError, NotFoundError } from '../../core/errors.ts'
import { type ConversationId, conversationId, type MessageId, messageId } from '../../core/ids.ts'
import type { Message, NewMessage } from '../../core/message.ts'
import type { PathSection } from '../../core/path-section.ts'
import type { Appended, AppendOptions } from '../../core/ports.ts'
import { idempotencyHeader, idempotencyKey, turnKeyOf } from '../http/idempotency.ts'
import { ifMatchHeader, writesIfMatch } from '../http/precondition.ts'
import { type Caller, json, type Route, route } from '../http/route.ts'
import { isLiveAt } from './read-overview.ts'
import type { RouteContext } from './route-context.ts'

const tag = 'Messages'
const ofConversation = z.strictObject({ id: z.string().describe('full id of a conversation') })
const ofMessage = z.strictObject({ id: z.string().describe('full id of a message') })

const sectionSchema = z
  .strictObject({
    items: z.array(messageSchema).describe('in order of depth'),
    path_messages: countSchema.describe('the number of messages on the whole path'),
    turns: z.array(turnSchema).describe('the turns of the messages'),
    tool_times: z
      .array(
        z.strictObject({
          message: idSchema.nullable(),
          call_id: z.string(),
          started_at: timeSchema,
          ended_at: timeSchema.nullable(),
        }),
      )
      .describe('when tools ran, as far as they were traced'),
  })
  .meta({ id: 'PathSection', description: 'Consecutive messages of a path.' })

const removedSchema = z
  .strictObject({
    success: z.literal(true),
    message: z.string(),
    messages: countSchema.describe('how many were removed'),
    remains: z.array(z.string()).describe('where the content may still be: file, log, dead_rows, backups'),
  })
  .meta({ id: 'Removed', description: 'The effects of deleting or erasing.' })

/** Read, append, delete, label and erase messages. */
export function messageRoutes({ now }: RouteContext): readonly Route[] {
  const isLive = isLiveAt(now)

  function sectionBody(section: PathSection, model: string | null) {
    return {
      items: sectionJson(section, { model, isLive }),
      path_messages: section.pathMessages,
      turns: section.turns.map(turn => turnJson(turn, isLive)),
      tool_times: section.toolTimes.map(({ messageId: message, callId, startedAt, endedAt }) => ({
        message,
        call_id: callId,
        started_at: startedAt.toISOString(),
        ended_at: endedAt?.toISOString() ?? null,
      })),
    }
  }

  return [
    route({
      method: 'get',
      path: '/conversations/{id}/messages',
      operation: 'listMessages',
      scope: 'read',
      tag,
      summary: 'Read a range of a path, or all messages in the order in which they were stored',
      description:
        'Without `order`, the newest messages of a path, or those from a depth on. With `order`, a page of the ' +
        'messages of all branches.',
      params: ofConversation,
      query: listMessagesQuery,
      responses: {
        200: {
          description: 'A section of a path, or a page by seq',
          schema: z.union([sectionSchema, pageSchema(storedMessageSchema)]),
        },
      },
      async handle({ params, query, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const { branch, at, order, from, before, limit, blobs } = query
        const few = { ...(limit !== undefined && { limit }), ...(blobs !== undefined && { blobs }) }
        if (order !== undefined) {
          await store.versionOf(id)
          const { roles, label, after, after_seq } = query
          const page = await store.listMessages({
            conversationId: id,
            order,
            ...few,
            ...(roles !== undefined && { roles }),
            ...(label !== undefined && { label }),
            ...(after !== undefined && { after }),
            ...(after_seq !== undefined && { afterSeq: after_seq }),
          })
          return json(pageJson(page, storedMessageJson))
        }
        const { model, activeBranch } = await store.getConversation(id)
        const end = await endOf(store, id, at ?? null, branch ?? activeBranch)
        if (end === null) return json({ items: [], path_messages: 0, turns: [], tool_times: [] })
        const section = await store.readPathSection(end, {
          ...few,
          ...(from !== undefined && { from }),
          ...(before !== undefined && { before }),
        })
        return json(sectionBody(section, model))
      },
    }),
    route({
      method: 'post',
      path: '/conversations/{id}/messages',
      operation: 'appendMessages',
      scope: 'write',
      tag,
      summary: 'Append messages to a branch',
      description:
        'All or nothing. `expected_head` is compared in the transaction. A retry with the same Idempotency-Key ' +
        'and the same messages returns the stored result.',
      params: ofConversation,
      body: appendSchema,
      headers: { ...idempotencyHeader, ...ifMatchHeader },
      responses: { 201: { description: 'The messages are stored', schema: appendedSchema } },
      async handle({ params, body, request, caller: { store } }) {
        const id = conversationId(params.id, 'id')
        const writes = await writesIfMatch(request, store, id)
        const key = idempotencyKey(request)
        const messages = body.messages.map(newMessageOf)
        const options: AppendOptions = {
          ...(key !== null && { turn: { key: turnKeyOf(key), step: 0 } }),
          ...(body.on_conflict !== undefined && { onConflict: body.on_conflict }),
        }
        const name = body.branch ?? (await store.getConversation(id)).activeBranch
        const ref = { conversationId: id, name }
        const expected = body.expected_head
        const append = ({ append }: Pick<ConditionalWrites, 'append'>) =>
          expected === undefined
            ? appendAtHead({ getBranch: store.getBranch, append }, ref, messages, options)
            : append(ref, expected === null ? null : messageId(expected, 'expected_head'), messages, options)
        try {
          return json(appendedJson(await append(writes)), 201)
        } catch (error) {
          // A retry is answered from the store, although its first attempt has changed the version.
          if (!(error instanceof PreconditionFailedError) || key === null) throw error
          if ((await store.findTurn(id, turnKeyOf(key))) === null) throw error
          return json(appendedJson(await append(store)), 201)
        }
      },
    }),
    route({
      method: 'get',
      path: '/messages/{id}',
      operation: 'getMessage',
      scope: 'read',
      tag,
      summary: 'Read a message',
      params: ofMessage,
      responses: { 200: { description: 'The message', schema: storedMessageSchema } },
      async handle({ params, caller: { store } }) {
        return json(storedMessageJson(await oneMessage(store, messageId(params.id, 'id'))))
      },
    }),
    route({
      method: 'delete',
      path: '/messages/{id}',
      operation: 'deleteMessage',
      scope: 'write',
      tag,
      summary: 'Delete a message, and keep its place as a tombstone: its id, when and why it was deleted',
      params: ofMessage,
      query: deleteMessageQuery,
      responses: { 200: { description: 'It is deleted', schema: removedSchema } },
      async handle({ params, query: { recursive, reason }, caller: { store } }) {
        const id = messageId(params.id, 'id')
        const { deleted, remains } = await store.deleteMessages([id], {
          recursive: recursive === 'true',
          ...(reason !== undefined && { reason }),
        })
        if (deleted === 0) throw new NotFoundError('message', id)
        return json({ success: true, message: 'deleted', messages: deleted, remains })
      },
    }),
    route({
      method: 'put',
      path: '/messages/{id}/label',
      operation: 'labelMessage',
      scope: 'write',
      tag,
      summary: 'Set or remove the label of a message',
      params: ofMessage,
      body: labelSchema,
      responses: { 200: { description: 'The message', schema: storedMessageSchema } },
      async handle({ params, body, caller: { store } }) {
        const id = messageId(params.id, 'id')
        await store.setLabel(id, body.label)
        return json(storedMessageJson(await oneMessage(store, id)))
      },
    }),
    route({
      method: 'post',
      path: '/messages/{id}/erase',
      operation: 'eraseMessage',
      scope: 'admin',
      tag,
      summary: 'Remove the content of a message for good, and keep its place',
      params: ofMessage,
      body: eraseSchema,
      responses: { 200: { description: 'Its content is removed', schema: removedSchema } },
      async handle({ params, body, caller: { store, token } }) {
        const id = messageId(params.id, 'id')
        await oneMessage(store, id)
        const erasure = { by: body.by ?? token.name, reason: body.reason }
        const { erased, remains } = await store.eraseMessages([id], erasure)
        return json({ success: true, message: 'erased', messages: erased, remains })
      },
    }),
  ]
}

async function oneMessage(store: Caller['store'], id: MessageId): Promise<Message> {
  const [message] = await store.getMessages([id])
  if (!message) throw new NotFoundError('message', id)
  return message
}

/** The last message of the path to read: the given one, or the head of the branch. Null for an empty
 *  branch. */
async function endOf(
  store: Caller['store'],
  id: ConversationId,
  at: string | null,
  branch: string,
): Promise<MessageId | null> {
  if (at === null) return (await store.getBranch({ conversationId: id, name: branch })).head
  const message = await oneMessage(store, messageId(at, 'at'))
  if (message.conversationId !== id) throw new NotFoundError('message', at)
  return message.id
}

/** How often an append to any head is repeated when other writers are faster. */
const mostAttempts = 10

/** Appends behind the messages that the branch has now. */
async function appendAtHead(
  store: Pick<Caller['store'], 'getBranch' | 'append'>,
  ref: { readonly conversationId: ConversationId; readonly name: string },
  messages: readonly NewMessage[],
  options: AppendOptions,
): Promise<Appended> {
  for (let attempt = 1; ; attempt++) {
    const { head } = await store.getBranch(ref)
    try {
      return await store.append(ref, head, messages, options)
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === mostAttempts) throw error
    }
  }
}
