import { type BusyError, ExpiredError, KeyReusedError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { NonEmpty } from '../../core/message.ts'
import type { Appended } from '../../core/ports.ts'
import type { PreparedMessage } from '../../core/prepare.ts'
import { addUsage, type TurnStep, type Usage } from '../../core/turn.ts'
import { all, type Program, run } from '../engine/engine.ts'
import { heldByAnother, holderText, nameOfTurn, usageFromRow } from '../engine/row-to-value.ts'
import type { Conv, TurnRow } from '../engine/rows.ts'

/** What an append has written. Whether it is committed is known to the engine. */
export type Written = Omit<Appended, 'committed'>

/** The stored result of a step that was stored before, or null. Throws KeyReusedError if it stored other
 *  messages. */
export function* replayStep(
  conversationId: ConversationId,
  conv: Conv,
  turn: TurnRow,
  step: TurnStep,
  messages: NonEmpty<PreparedMessage>,
): Program<Written | null> {
  if (step.step > turn.last_step) return null
  const stored = yield* all('stepMessages', { conv, first: turn.first, last: turn.last, step: step.step })
  const same =
    stored.length === messages.length &&
    stored.every((row, i) => {
      const message = messages[i]!
      return row.role === message.role && Buffer.from(row.body_hash).toString('hex') === message.body.hash
    })
  if (!same) {
    throw new KeyReusedError(
      step.key,
      `step ${step.step} of turn ${JSON.stringify(step.key)} has been used for other messages`,
    )
  }
  return {
    branch: { conversationId, name: turn.branch },
    head: stored.at(-1)!.id as MessageId,
    ids: stored.map(row => row.id as MessageId) as unknown as NonEmpty<MessageId>,
    outcome: 'replayed',
  }
}

/** Only the holder of an open turn may add a step, and only on the branch of the turn. */
export function checkOngoing(turn: TurnRow, step: TurnStep, branch: string): void {
  if (turn.status !== 'open') {
    throw new ExpiredError(`turn ${JSON.stringify(turn.key)} has ended: it is ${turn.status}`)
  }
  checkHeldBy(turn, step.holder === undefined ? null : holderText(step.holder))
  if (turn.branch !== branch) {
    throw new KeyReusedError(
      step.key,
      `turn ${JSON.stringify(turn.key)} is on branch ${JSON.stringify(turn.branch)}`,
    )
  }
}

export function checkHeldBy(turn: TurnRow, holder: string | null): void {
  if (turn.holder !== holder) {
    throw new ExpiredError(`${nameOfTurn(turn.key)} is held by another process`)
  }
}

/** The error for other writers while a turn holds its branch. */
export function heldBy(turn: TurnRow): BusyError {
  return heldByAnother(`branch ${JSON.stringify(turn.branch)}`, turn)
}

/** Inserts the row of the turn, or updates it with this step. */
export function* writeTurn(
  conv: Conv,
  ongoing: TurnRow | undefined,
  step: TurnStep,
  written: { branch: string; first: number; last: number; now: number; leaseMs: number },
): Program<void> {
  const { branch, first, last, now, leaseMs } = written
  const status = step.status ?? 'complete'
  const open = status === 'open'
  const lease_until = open ? now + leaseMs : null
  const ended_at = open ? null : now
  if (!ongoing) {
    yield* run('insertTurn', {
      conv,
      key: step.key,
      branch,
      first,
      last,
      last_step: step.step,
      status,
      model: step.model ?? null,
      prompt_hash: step.promptHash ?? null,
      usage: JSON.stringify(step.usage ?? {}),
      holder: step.holder ? holderText(step.holder) : null,
      lease_until,
      now,
      ended_at,
    })
    return
  }
  yield* run('updateTurn', {
    conv,
    key: step.key,
    last,
    last_step: step.step,
    status,
    model: step.model ?? ongoing.model,
    prompt_hash: step.promptHash ?? ongoing.prompt_hash,
    usage: JSON.stringify(addUsage(usageFromRow(ongoing), step.usage ?? {})),
    lease_until,
    ended_at,
  })
  // The draft of this step is now a message.
  yield* run('deleteDrafts', { conv, turn: step.key })
}

/** The totals of a conversation that usage increases. */
export function charged(usage: Usage | undefined): { tokens_used: number; cost: number } {
  return { tokens_used: (usage?.input ?? 0) + (usage?.output ?? 0), cost: usage?.cost ?? 0 }
}
