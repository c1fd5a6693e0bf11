import { hashMessage } from '../../core/hash.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { NonEmpty } from '../../core/message.ts'
import type { Appended, Store } from '../../core/ports.ts'
import { titleOfMessages } from '../../core/prepare.ts'
import { fold } from '../../core/search/fold.ts'
import { holderText } from '../engine/row-to-value.ts'
import { appendRequest, isLargeAppend } from '../store/new-messages.ts'
import { loadForTurn } from '../store/store-with-hub.ts'
import type { PostgresEngine } from './engine.ts'
import { isLostRace, stateOf, translate } from './errors.ts'
import { bind, type PreparedStatement, prepare } from './prepared.ts'
import { appendOutsideTurnsSql, continueTurnSql, openTurnSql } from './queries/append.ts'

type Request = ReturnType<typeof appendRequest>

const outside = [prepare(appendOutsideTurnsSql, 'appendOutsideTurns')]
const opening = [prepare(openTurnSql, 'openTurn')]
// A further step usually continues an open turn, but a turn may begin with any step. Exactly one of the two
// statements has an effect.
const further = [prepare(continueTurnSql, 'continueTurn'), prepare(openTurnSql, 'openTurn')]

const kinds: readonly string[] = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'cost']

/** A store whose ordinary appends are one statement in one round trip. Everything else (a retry, a
 *  conflict, a busy branch, blobs, large messages) is passed to the given store. `wake` is called after each
 *  one. */
export function withQuickAppend(store: Store, engine: PostgresEngine, wake: () => void): Store {
  return {
    ...store,
    append: async (branch, expectedHead, messages, options = {}) => {
      if (isLargeAppend(messages)) return store.append(branch, expectedHead, messages, options)
      const request = appendRequest(branch, expectedHead, messages, options, {
        now: engine.source.now(),
        leaseMs: engine.leaseMs,
      })
      loadForTurn(options)
      const quick = await quickAppend(engine, request).finally(wake)
      return quick ?? store.append(branch, expectedHead, messages, options)
    },
  }
}

/** Appends if nothing prevents it. Otherwise writes nothing and returns null. */
async function quickAppend(engine: PostgresEngine, request: Request): Promise<Appended | null> {
  const { ref } = request
  if (!isPlain(request)) return null
  const ids = idsOf(request)
  const params = {
    tenant: engine.tenant,
    ...engine.leaseClock(),
    ...paramsOf(request, ids),
    ...turnParams(request),
  }
  const statements = statementsFor(request).map(statement => bind(statement, params))
  try {
    engine.noteUnindexed()
    const results = await engine.appendOnce(ref.conversationId, statements)
    if (results.every(result => result.rows.length === 0)) return null
  } catch (error) {
    if (wroteNothing(error)) return null
    throw translate(error)
  }
  return {
    branch: ref,
    head: ids.at(-1)!,
    ids: ids as unknown as NonEmpty<MessageId>,
    outcome: 'appended',
    committed: !engine.isJoined(),
  }
}

function isPlain({ messages, turn, moveKey }: Request): boolean {
  if (moveKey !== undefined) return false
  if (messages.some(message => message.body.blobs.length > 0)) return false
  return Object.keys(turn?.usage ?? {}).every(kind => kinds.includes(kind))
}

function statementsFor({ turn }: Request): readonly PreparedStatement[] {
  if (turn === undefined) return outside
  return turn.step === 0 ? opening : further
}

/** A lost race, or a value that the statement cannot take: the shared program reports the reason. */
function wroteNothing(error: unknown): boolean {
  return isLostRace(error) || (stateOf(error)?.startsWith('22') ?? false)
}

/** The ids that the messages get if the head is the expected one. */
function idsOf({ ref, expectedHead, messages, now }: Request): MessageId[] {
  let above: MessageId | ConversationId = expectedHead ?? ref.conversationId
  return messages.map(message => {
    const id = hashMessage(above, message.role, message.time ?? now, message.body.hash)
    above = id
    return id
  })
}

function paramsOf({ ref, expectedHead, messages, turn, now }: Request, ids: readonly MessageId[]): object {
  let sum = 0
  const sums = messages.map(message => (sum += message.tokens))
  const title = titleOfMessages(messages)
  return {
    conv: ref.conversationId,
    name: ref.name,
    expected: expectedHead,
    ids,
    roles: messages.map(message => message.role),
    times: messages.map(message => message.time ?? now),
    tokens: messages.map(message => message.tokens),
    sums,
    labels: messages.map(message => message.label),
    hashes: messages.map(message => Buffer.from(message.body.hash, 'hex')),
    bodies: messages.map(message => message.body.text),
    count: messages.length,
    sum,
    head: ids.at(-1)!,
    used: (turn?.usage?.input ?? 0) + (turn?.usage?.output ?? 0),
    cost: turn?.usage?.cost ?? 0,
    title,
    title_folded: title === null ? null : fold(title),
    now,
  }
}

function turnParams({ turn, now, leaseMs }: Request): object {
  if (turn === undefined) return {}
  const status = turn.status ?? 'complete'
  const usage = turn.usage ?? {}
  return {
    key: turn.key,
    step: turn.step,
    status,
    model: turn.model ?? null,
    prompt_hash: turn.promptHash ?? null,
    usage: JSON.stringify(usage),
    holder: turn.holder ? holderText(turn.holder) : null,
    lease_until: status === 'open' ? now + leaseMs : null,
    ended_at: status === 'open' ? null : now,
  }
}
