import { type Model, type ModelConversation, type ModelMessage, type ModelTurn, Refusal } from './model.ts'

/** The model's operations on open turns and on events. */

/** Adds pieces of an answer, starting at piece `from`. */
export function putDraft(
  model: Model,
  conversation: ModelConversation,
  key: string,
  holder: number,
  from: number,
  texts: readonly string[],
): void {
  const turn = needHeldTurn(model, conversation, key, holder)
  const drafts = [...turn.drafts]
  for (const [i, text] of texts.entries()) {
    const n = from + i
    if (n > drafts.length) throw new Refusal('invalid')
    if (n < drafts.length && drafts[n] !== text) throw new Refusal('key_reused')
    drafts[n] = text
  }
  turn.drafts = drafts
}

/** Ends a turn. Returns the message that its draft becomes, if it has one. */
export function endTurn(
  model: Model,
  conversation: ModelConversation,
  key: string,
  holder: number,
  status: 'complete' | 'interrupted' | 'failed',
): ModelMessage | null {
  const turn = needHeldTurn(model, conversation, key, holder)
  turn.status = status
  if (turn.drafts.length === 0) return null
  const branch = model.needPlace(conversation, turn.branch)
  branch.head = model.place(conversation, branch.head, turn.drafts.join(''), turn, null)
  turn.last = branch.head.seq
  turn.drafts = []
  conversation.updatedAt = Math.max(conversation.updatedAt, model.now)
  return branch.head
}

/** Reopens the last turn of a branch, if it did not complete. */
export function reopenTurn(
  model: Model,
  conversation: ModelConversation,
  name: string,
  holder: number,
): ModelTurn | null {
  const { head } = model.needPlace(conversation, name)
  if (model.openTurnOn(conversation, name)) throw new Refusal('busy')
  const turn = conversation.turns.find(one => one.branch === name && one.last === head?.seq)
  if (!turn || turn.status === 'complete') return null
  Object.assign(turn, { status: 'open', holder })
  return turn
}

export function addEvents(model: Model, conversation: ModelConversation, types: readonly string[]): void {
  model.needLiving(conversation)
  conversation.events.push(...types)
}

/** The turn, if it is open and held by this holder. */
export function needHeldTurn(
  model: Model,
  conversation: ModelConversation,
  key: string,
  holder: number,
): ModelTurn {
  model.needLiving(conversation)
  const turn = conversation.turns.find(one => one.key === key)
  if (!turn) throw new Refusal('not_found')
  if (turn.status !== 'open' || turn.holder !== holder) throw new Refusal('expired')
  return turn
}
