import type { BranchRef } from '../../core/branch.ts'
import { messageOfDraft } from '../../core/draft.ts'
import { ExpiredError, type Holder, InvalidError, KeyReusedError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ListTurns, Page, PageOptions } from '../../core/listing.ts'
import { prepareMessage } from '../../core/prepare.ts'
import { addUsage, type DraftPiece, type EndedTurn, type Turn, type TurnEnd } from '../../core/turn.ts'
import { all, first, type Program, run } from '../engine/engine.ts'
import { holderText, nameOfTurn, turnFromRow, usageFromRow } from '../engine/row-to-value.ts'
import type { Conv, TurnRow } from '../engine/rows.ts'
import { storedText } from '../engine/stored-fields.ts'
import { aboveAll, defaultLimit, numberAfter, pageOf } from './cursor.ts'
import { growthOf, headFields, headPosition, insertMessage } from './insert-message.ts'
import { convOf, lockBranch, lockLiving, needBranch } from './lookup.ts'
import { charged, checkHeldBy, heldBy } from './steps.ts'

/** When a lease begins, and how long it lasts. */
export interface LeaseTime {
  readonly now: number
  readonly leaseMs: number
}

export function* findTurn(id: ConversationId, key: string): Program<Turn | null> {
  const conv = yield* convOf(id)
  const row = yield* first('turn', { conv, key })
  return row ? turnFromRow(id, row) : null
}

export function* listTurns(id: ConversationId, options: ListTurns): Program<Page<Turn>> {
  const conv = yield* convOf(id)
  const { limit = defaultLimit, order = 'ascending', status = null, firsts } = options
  const isUp = order === 'ascending'
  const range = {
    conv,
    above: isUp ? numberAfter(options, -1) : -1,
    below: isUp ? aboveAll : numberAfter(options, aboveAll),
    limit: limit + 1,
  }
  const rows = firsts
    ? yield* chosenTurns(firsts, range, { isUp, status })
    : status === 'open'
      ? yield* all(isUp ? 'listOpenTurns' : 'listOpenTurnsDown', range)
      : status === 'interrupted' || status === 'failed'
        ? yield* all(isUp ? 'listStoppedTurns' : 'listStoppedTurnsDown', { ...range, status })
        : yield* all(isUp ? 'listTurns' : 'listTurnsDown', { ...range, status })
  return pageOf(
    rows,
    options,
    row => turnFromRow(id, row),
    row => [row.first],
  )
}

/** The turns that begin with these messages, as `listTurns` reads them from the list of all. */
function* chosenTurns(
  firsts: readonly number[],
  { conv, above, below, limit }: Record<'above' | 'below' | 'limit', number> & { readonly conv: Conv },
  { isUp, status }: { readonly isUp: boolean; readonly status: Turn['status'] | null },
): Program<readonly TurnRow[]> {
  const wanted = [...new Set(firsts)].filter(first => above < first && first < below)
  if (wanted.length === 0) return []
  const found = yield* all('turnsAt', { conv, firsts: wanted })
  const rows = status === null ? found : found.filter(row => row.status === status)
  return (isUp ? rows : rows.toReversed()).slice(0, limit)
}

export function* readDraft(id: ConversationId, key: string, page: PageOptions): Program<Page<DraftPiece>> {
  const conv = yield* convOf(id)
  yield* needTurn(conv, key)
  const { limit = defaultLimit } = page
  const after = numberAfter(page, -1)
  const rows = yield* all('draftsAfter', { conv, turn: key, after, limit: limit + 1 })
  return pageOf(
    rows,
    page,
    row => pieceOf(key, row),
    row => [row.n],
  )
}

/** Pieces are stored as JSON: a stream may split a surrogate pair, which no engine can store as text. */
function* pieces(conv: Conv, key: string): Program<readonly DraftPiece[]> {
  return (yield* all('drafts', { conv, turn: key })).map(row => pieceOf(key, row))
}

export function pieceOf(turn: string, row: { n: number; type: string; text: string }): DraftPiece {
  return {
    n: row.n,
    type: row.type as DraftPiece['type'],
    text: storedText(row.text, 'text', `piece ${row.n} of the draft of ${nameOfTurn(turn)}`),
  }
}

/** Adds pieces and renews the lease. A piece that is stored already is a retry. */
export function* putDraft(
  id: ConversationId,
  key: string,
  holder: Holder,
  added: readonly DraftPiece[],
  { now, leaseMs }: LeaseTime,
): Program<void> {
  const { conv } = yield* lockLiving(id)
  yield* needHeldTurn(conv, key, holder)
  let next = ((yield* first('lastDraft', { conv, turn: key }))?.n ?? -1) + 1
  for (const piece of added) {
    if (piece.n < next) {
      yield* checkSamePiece(conv, key, piece)
      continue
    }
    if (piece.n > next) throw new InvalidError('pieces', `piece ${piece.n} came before piece ${next}`)
    yield* run('insertDraft', {
      conv,
      turn: key,
      n: piece.n,
      type: piece.type,
      text: JSON.stringify(piece.text),
    })
    next++
  }
  yield* run('renewTurn', { conv, key, lease_until: now + leaseMs })
  yield* run('bumpVersion', { conv })
}

function* checkSamePiece(conv: Conv, key: string, piece: DraftPiece): Program<void> {
  const stored = (yield* pieces(conv, key))[piece.n]
  if (stored?.text === piece.text && stored.type === piece.type) return
  throw new KeyReusedError(key, `piece ${piece.n} of turn ${JSON.stringify(key)} holds another text`)
}

export function* renewTurn(
  id: ConversationId,
  key: string,
  holder: Holder,
  { now, leaseMs }: LeaseTime,
): Program<Turn> {
  const { conv } = yield* lockLiving(id)
  const row = yield* needHeldTurn(conv, key, holder)
  const lease_until = now + leaseMs
  yield* run('renewTurn', { conv, key, lease_until })
  return turnFromRow(id, { ...row, lease_until })
}

/** Ends a turn. Its draft becomes the last message of the turn. */
export function* endTurn(id: ConversationId, key: string, end: TurnEnd, now: number): Program<EndedTurn> {
  const conversation = yield* lockLiving(id)
  const { conv, next_seq } = conversation
  const turn = yield* needHeldTurn(conv, key, end.heldBy)
  const message = messageOfDraft(yield* pieces(conv, key), end.status)
  let last = turn.last
  let messageId: MessageId | null = null
  if (message) {
    const prepared = prepareMessage(message, 'draft')
    const parent = headPosition(yield* needBranch(conv, turn.branch))
    // Without a step: the process that lost the turn may still try the next step number.
    const slot = { conv, conversationId: id, seq: next_seq, turn: turn.first, step: null, now }
    const placed = yield* insertMessage(prepared, parent, slot)
    yield* run('setHead', { conv, name: turn.branch, ...headFields(placed), now })
    yield* run('deleteDrafts', { conv, turn: key })
    const grown = { next_seq: next_seq + 1, added: 1, tokens: prepared.tokens }
    yield* run(growthOf(conversation), { conv, ...grown, ...untitled, now })
    last = placed.seq
    messageId = placed.id
  }
  const ended: TurnRow = {
    ...turn,
    last,
    status: end.status,
    usage: JSON.stringify(addUsage(usageFromRow(turn), end.usage ?? {})),
    lease_until: null,
    ended_at: now,
  }
  yield* run('updateTurn', { conv, ...ended })
  yield* run('charge', { conv, ...charged(end.usage) })
  return { turn: turnFromRow(id, ended), message: messageId }
}

const untitled = { tokens_used: 0, cost: 0, title: null, title_folded: null }

/** Reopens a turn that was interrupted or failed, if the branch has not continued since. */
export function* reopenTurn(
  ref: BranchRef,
  holder: Holder,
  { now, leaseMs }: LeaseTime,
): Program<Turn | null> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  const open = yield* first('openTurnOn', { conv, name: branch.name })
  if (open) throw heldBy(open)
  const turn = yield* first('turnEndingAt', { conv, name: branch.name, seq: branch.head_seq })
  if (!turn || turn.status === 'complete') return null
  const held = { holder: holderText(holder), lease_until: now + leaseMs }
  yield* run('reopenTurn', { conv, key: turn.key, ...held })
  yield* run('bumpVersion', { conv })
  return turnFromRow(ref.conversationId, { ...turn, ...held, status: 'open', ended_at: null })
}

function* needTurn(conv: Conv, key: string): Program<TurnRow> {
  const row = yield* first('turn', { conv, key })
  if (!row) throw new NotFoundError('turn', key)
  return row
}

function* needHeldTurn(conv: Conv, key: string, holder: Holder): Program<TurnRow> {
  const row = yield* needTurn(conv, key)
  if (row.status !== 'open')
    throw new ExpiredError(`turn ${JSON.stringify(key)} has ended: it is ${row.status}`)
  checkHeldBy(row, holderText(holder))
  return row
}
