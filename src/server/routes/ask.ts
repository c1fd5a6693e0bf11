import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { AgentEvent } from '../../agent/run/events.ts'
import { newContentOf } from '../../api/new-message.ts'
import type { ProblemJson } from '../../api/problem.ts'
import { askedSchema, turnEventSchema, turnSchema } from '../../api/schema/index.ts'
import { askSchema } from '../../api/schema/request/index.ts'
import { turnJson } from '../../api/turn.ts'
import type { TurnEventJson } from '../../api/turn-event.ts'
import { usageJson } from '../../api/usage.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import { BusyError, checkNotOwned, KeyReusedError, NotFoundError } from '../../core/errors.ts'
import { conversationId, messageId } from '../../core/ids.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Turn } from '../../core/turn.ts'
import { takeOver } from '../../recorder/take-over.ts'
import { HttpError } from '../http/http-error.ts'
import {
  findNamedTurn,
  idempotencyHeader,
  idempotencyKey,
  turnKeyOf,
  turnKeyParam,
} from '../http/idempotency.ts'
import { problemOf } from '../http/problem.ts'
import { type Caller, json, type Route, route } from '../http/route.ts'
import { eventStreamHeaders, eventText, withHeartbeat } from '../turns/event-stream.ts'
import { requestStop, whenStopped } from '../turns/stop-requests.ts'
import { findFinishedTurn, storedTurnEvents } from '../turns/stored-turn.ts'
import { createSibling } from './create-sibling.ts'
import { isLiveAt } from './read-overview.ts'
import type { RouteContext } from './route-context.ts'

const tag = 'Turns'

/** Ask a model, and stop it. */
export function askRoutes({ agentOf, turns, metrics, now, limits, closing }: RouteContext): readonly Route[] {
  const isLive = isLiveAt(now)
  return [
    route({
      method: 'post',
      path: '/conversations/{id}/turns',
      operation: 'ask',
      scope: 'ask',
      tag,
      summary: 'Ask a model',
      description:
        'Returns when the prompt is stored. With `Accept: text/event-stream`, the response is the events of the ' +
        'turn. The turn continues when the connection is closed. Only tools that are read-only or named in ' +
        '`tools.allow` run. The key of the turn is `http:` and the Idempotency-Key. A retry continues a turn that a ' +
        'crash or a failure has cut off; a turn that is complete, or that was stopped, is answered from the store, ' +
        'with the events `started` and `ended`. If the model fails, the turn is `failed`, and the last event is ' +
        '`failed` with the problem, whose status is 502.',
      params: z.strictObject({ id: z.string().describe('full id of a conversation') }),
      body: askSchema,
      headers: { ...idempotencyHeader, Accept: 'text/event-stream returns the events of the turn' },
      responses: {
        202: { description: 'The turn has begun', schema: askedSchema },
        200: { description: 'The events of the turn, up to `ended` or `failed`', events: turnEventSchema },
      },
      async handle({ params, body, request, caller, cutOff }) {
        const open = agentOf
        if (!open) throw new HttpError('no_models', 'this service does not ask models')
        const { store, token, requestId } = caller
        const conversation = await store.getConversation(conversationId(params.id, 'id'))
        if (conversation.trashedAt !== null)
          throw new NotFoundError('conversation', conversation.id, { trashed: true })
        checkNotOwned(conversation)
        const given = idempotencyKey(request)
        const key = given === null ? `http:${randomUUID()}` : turnKeyOf(given)
        const message: NewMessage = { role: 'user', content: newContentOf(body) }
        if (given !== null) {
          const name = body.branch ?? conversation.activeBranch
          const finished = await findFinishedTurn(
            store,
            { conversationId: conversation.id, name },
            key,
            message,
          )
          const asked = body.at === undefined ? name : given
          if (finished) return respondFromStore(store, finished, asked, request)
        }
        const agent = await open(token.tenant, body.model ?? keptModel(conversation))
        // A request that is refused must not leave a branch behind.
        if (body.at !== undefined) turns.checkRoom()
        const branch = await branchOf(caller, conversation, body, given)
        const turn = await turns.start({
          tenant: token.tenant,
          branch,
          key,
          message,
          agent,
          store,
          requestId,
        })
        if (!wantsEvents(request)) return json({ turn: turn.key, branch: turn.branch.name }, 202)
        const events = textsOf(turn.events, requestId, () => metrics.resumed('interrupted_turn'))
        return new Response(withHeartbeat(events, cutOff), { headers: eventStreamHeaders })
      },
    }),
    route({
      method: 'delete',
      path: '/conversations/{id}/turns/{key}',
      operation: 'stopTurn',
      scope: 'ask',
      tag,
      summary: 'Stop a turn, and keep what has arrived',
      description:
        'Returns when the turn is stored. A turn of another process of the service is stopped by that process, ' +
        'within a second. A turn of another program, such as a chat, is not stopped: 409. A turn that has ' +
        'ended stays as it is. A retry of a stopped turn does not ask the model again.',
      params: z.strictObject({ id: z.string().describe('full id of a conversation'), key: turnKeyParam }),
      responses: { 200: { description: 'The turn as it is now', schema: turnSchema } },
      async handle({ params, request, caller: { store, token } }) {
        const id = conversationId(params.id, 'id')
        const isRunning = turns.isRunning(token.tenant, id, params.key)
        const key = isRunning ? params.key : ((await findNamedTurn(store, id, params.key))?.key ?? params.key)
        // At the same time: a store that is away must not delay the stop.
        const [isHere] = await Promise.all([turns.stop(token.tenant, id, key), requestStop(store, id, key)])
        let turn = await store.findTurn(id, key)
        if (!isHere && turn?.status === 'open') {
          // Its process may have died.
          const ended = await takeOver(store, id, turn.branch)
          turn = ended.find(one => one.turn.key === key)?.turn ?? turn
        }
        if (!isHere && turn?.status === 'open') {
          const signal = AbortSignal.any([request.signal, closing])
          turn = await whenStopped(store, id, key, { waitMs: limits.stopMs, signal })
        }
        if (!turn) throw new NotFoundError('turn', params.key)
        if (!isHere && isLive(turn))
          throw new BusyError(`turn ${JSON.stringify(turn.key)}`, null, turn.leaseUntil)
        return json(turnJson(turn, isLive))
      },
    }),
  ]
}

/** The model that the conversation keeps. The name of another program's agent does not count, nor does the
 *  built-in model if it was not chosen. */
export function keptModel({ model, metadata }: Conversation): string | undefined {
  if (model === null || (model === 'scripted' && metadata.demo === true)) return undefined
  return model.includes('/') || model === 'scripted' ? model : undefined
}

/** The branch to continue: the given one, the active one, or a new one at a message. */
async function branchOf(
  { store }: Caller,
  { id, activeBranch }: Conversation,
  { branch, at }: { readonly branch?: string | undefined; readonly at?: string | undefined },
  key: string | null,
): Promise<BranchRef> {
  if (at === undefined) return store.getBranch({ conversationId: id, name: branch ?? activeBranch })
  const [message] = await store.getMessages([messageId(at, 'at')], { blobs: 'preview' })
  if (message?.conversationId !== id) throw new NotFoundError('message', at)
  if (key === null) return createSibling(store, id, message.id, activeBranch)
  try {
    return await store.createBranch(id, message.id, { name: key })
  } catch (error) {
    if (!(error instanceof KeyReusedError)) throw error
    return { conversationId: id, name: key }
  }
}

/** The response to a retry of a finished turn. No model is asked. */
async function respondFromStore(
  store: Caller['store'],
  turn: Turn,
  askedBranch: string,
  request: Request,
): Promise<Response> {
  if (!wantsEvents(request)) return json({ turn: turn.key, branch: turn.branch }, 202)
  const events = await storedTurnEvents(store, turn, askedBranch)
  return new Response(events.map(eventText).join(''), { headers: eventStreamHeaders })
}

function wantsEvents({ headers }: Request): boolean {
  return /\btext\/event-stream\b/i.test(headers.get('accept') ?? '')
}

/** The events of a turn as texts. A turn that fails ends with the event `failed` and its problem details. */
async function* textsOf(
  events: AsyncIterable<AgentEvent>,
  requestId: string,
  onResumed: () => void,
): AsyncGenerator<string> {
  try {
    for await (const event of events) {
      if (event.type === 'resumed') onResumed()
      const mapped = turnEventJson(event)
      if (mapped !== null) yield eventText(mapped)
    }
  } catch (error) {
    yield eventText({ type: 'failed', problem: problemOf(error, requestId).body as ProblemJson })
  }
}

/** Maps an event of a run to JSON. Null for events that are not for clients. */
function turnEventJson(event: AgentEvent): TurnEventJson | null {
  switch (event.type) {
    case 'started': {
      const { turn, branch, forked } = event
      return { type: 'started', turn, ...placeOf(branch), forked }
    }
    case 'resumed':
      return { type: 'resumed', at: event.at }
    case 'text':
    case 'thinking':
      return { type: event.type, text: event.text }
    case 'tool_started': {
      const { callId, name, input } = event
      return { type: 'tool_started', call_id: callId, name, input }
    }
    case 'tool_ended': {
      const { callId, name, output, isError } = event
      return { type: 'tool_ended', call_id: callId, name, output, is_error: isError }
    }
    case 'answered': {
      const { step, message, finish, usage } = event
      return { type: 'answered', step, message, finish, usage: usageJson(usage) }
    }
    case 'retrying':
      return { type: 'retrying', left: event.left }
    case 'trouble':
      return { type: 'trouble' }
    case 'subagent': {
      const inner = turnEventJson(event.event)
      const { name, conversationId: conversation } = event
      return inner && { type: 'subagent', name, conversation, event: inner }
    }
    case 'ended': {
      const { turn, branch, text, status, stop, head, usage, saved } = event.reply
      const approvals = event.reply.approvals.map(({ id, title }) => ({ id, title }))
      const ending = { status, stop, approvals, text, head, usage: usageJson(usage), saved }
      return { type: 'ended', turn, ...placeOf(branch), ...ending }
    }
    default:
      return null
  }
}

function placeOf(branch: BranchRef | null) {
  return { conversation: branch?.conversationId ?? null, branch: branch?.name ?? null }
}
