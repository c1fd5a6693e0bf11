import { cutReason } from '../../api/answer-ending.ts'
import type { TurnEventJson } from '../../api/turn-event.ts'
import { usageJson } from '../../api/usage.ts'
import type { BranchRef } from '../../core/branch.ts'
import { type Message, type NewMessage, textOf } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { Turn } from '../../core/turn.ts'
import type { ServiceStore } from '../http/service-options.ts'
import { isStopped } from './stop-requests.ts'

/** The turn with this key, if it is finished: complete, or stopped by a client. Null for a turn that a retry
 *  continues: it runs, was interrupted by a crash or a shutdown, or failed. Throws KeyReusedError if the turn
 *  began with another message. */
export async function findFinishedTurn(
  store: Pick<ServiceStore, 'findTurn' | 'listEvents' | 'append'>,
  branch: BranchRef,
  key: string,
  message: NewMessage,
): Promise<Turn | null> {
  const turn = await store.findTurn(branch.conversationId, key)
  if (turn === null || turn.status === 'open') return null
  if (turn.status !== 'complete' && !(await isStopped(store, turn))) return null
  // The first step of a stored turn is never written again: the store compares it with the message.
  await store.append(branch, null, [message], { turn: { key, step: 0 } })
  return turn
}

/** The events of a finished turn, from the store. `askedBranch` is the branch that the request named. */
export async function storedTurnEvents(
  store: Pick<ServiceStore, 'listMessages' | 'listApprovals'>,
  turn: Turn,
  askedBranch: string,
): Promise<readonly TurnEventJson[]> {
  const { key, conversationId: conversation, branch, usage } = turn
  const messages = await messagesOf(store, turn)
  const last = messages.at(-1)
  const answer = messages.findLast(({ role }) => role === 'assistant')
  const waiting = (await store.listApprovals({ conversationId: conversation })).filter(
    approval => approval.turn === key,
  )
  return [
    { type: 'started', turn: key, conversation, branch, forked: branch !== askedBranch },
    {
      type: 'ended',
      turn: key,
      conversation,
      branch,
      ...endingOf(turn, last, waiting.length > 0),
      approvals: waiting.map(({ id, title }) => ({ id, title })),
      text: answer ? textOf(answer) : '',
      head: last?.id ?? null,
      usage: usageJson(usage),
      saved: true,
    },
  ]
}

/** Its messages, oldest first. Other branches may have grown between them. */
async function messagesOf(
  store: Pick<ServiceStore, 'listMessages'>,
  { conversationId, first, last }: Turn,
): Promise<readonly Message[]> {
  const found: Message[] = []
  const stored = itemsOf(page =>
    store.listMessages({ conversationId, order: 'ascending', afterSeq: first - 1, ...page }),
  )
  for await (const message of stored) {
    if (message.seq > last) break
    if (message.turn === first) found.push(message)
  }
  return found
}

type Ending = Pick<Extract<TurnEventJson, { type: 'ended' }>, 'status' | 'stop'>

function endingOf({ status }: Turn, last: Message | undefined, isWaiting: boolean): Ending {
  if (status !== 'complete') return { status: 'interrupted', stop: isWaiting ? 'approval' : 'aborted' }
  // Only the limit of steps ends a turn after results of tools.
  if (last?.role === 'tool_result') return { status: 'complete', stop: 'steps' }
  return { status: 'complete', stop: cutReason(last?.metadata?.finish) ?? 'stop' }
}
