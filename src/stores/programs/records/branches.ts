import { siblingNames } from '../../../core/branch-name.ts'
import type { ConversationId } from '../../../core/ids.ts'
import type { AgentLinkRecord, BranchRecord, RecordOutcome } from '../../../core/record.ts'
import { containsSeq } from '../../../core/runs.ts'
import { all, first, later, type Program, run } from '../../engine/engine.ts'
import type { BranchRow, PositionRow } from '../../engine/rows.ts'
import type { RowOf } from '../../engine/statements.ts'
import { beforeRoots, headFields } from '../insert-message.ts'
import { giveUpKey, isExpired } from '../keys.ts'
import {
  added,
  advanced,
  placeIn,
  present,
  type RecordTarget,
  type RecordWrite,
  refused,
} from './record-write.ts'

type Keys = Pick<BranchRow, 'key' | 'former_key' | 'trashed_key'>

/** Creates a missing branch. A branch whose head is an ancestor of the incoming head moves forward. If the
 *  branch has diverged, it stays, and the incoming one becomes its sibling. */
export function* putBranchRecord(
  move: RecordWrite,
  target: RecordTarget,
  record: BranchRecord,
): Program<RecordOutcome> {
  const head = record.head === null ? beforeRoots : placeIn(move, target, record.head)
  if (!head) return refused(`its head ${record.head} is missing`)
  const { key } = record
  const holders = key === null ? () => [] : yield* later('conversationByKey', { key })
  const known = yield* first('branch', { conv: target.conv, name: record.name })
  if (!known || isBlank(known, record)) {
    const { keys, note } = yield* keysFor(move, target, record, holders()[0])
    yield* write(target, record, head, keys)
    return { outcome: 'added', note }
  }
  if (known.head_id === head.id) return target.born ? added : present
  if (yield* lies(target, head, known.head_seq)) return present
  const held = yield* isHeldElsewhere(move, target, record.name, head)
  if (!held && (yield* lies(target, { seq: known.head_seq }, head.seq))) {
    const { conv } = target
    yield* run('setHead', { conv, name: record.name, ...headFields(head), now: record.updatedAt })
    target.changed = true
    return advanced
  }
  return yield* putSibling(target, record, head)
}

/** Whether the branch is still as a new conversation creates it, and the record differs. */
function isBlank(known: BranchRow, record: BranchRecord): boolean {
  const { key, former_key, trashed_key, title } = known
  if (known.head_seq >= 0 || [key, former_key, trashed_key, title].some(field => field !== null)) return false
  if (known.created_at !== known.updated_at) return false
  return (
    record.head !== null ||
    [record.key, record.formerKey, record.trashedKey, record.title].some(field => field !== null) ||
    record.createdAt !== known.created_at ||
    record.updatedAt !== known.updated_at
  )
}

/** Whether a position is on the path that ends at a seq. The position before all messages is on every
 *  path. */
function* lies(target: RecordTarget, place: Pick<PositionRow, 'seq'>, end: number): Program<boolean> {
  if (place.seq < 0) return true
  if (place.seq > end) return false
  return containsSeq(yield* all('pathRuns', { conv: target.conv, seq: end }), place.seq)
}

/** Whether a turn in this store holds the branch: its holder continues from the head that it knows. */
function* isHeldElsewhere(
  move: RecordWrite,
  { conv }: RecordTarget,
  name: string,
  head: PositionRow,
): Program<boolean> {
  const open = yield* first('openTurnOn', { conv, name })
  return open !== undefined && open.last !== head.seq && (open.lease_until ?? 0) > move.now
}

function* putSibling(target: RecordTarget, record: BranchRecord, head: PositionRow): Program<RecordOutcome> {
  for (const name of siblingNames(record.name)) {
    const known = yield* first('branch', { conv: target.conv, name })
    // It was written before.
    if (known && (yield* lies(target, head, known.head_seq))) return present
    if (known) continue
    const keys = { key: null, former_key: record.key ?? record.formerKey, trashed_key: null }
    yield* write(target, { ...record, name }, head, keys)
    const [from, to] = [JSON.stringify(record.name), JSON.stringify(name)]
    return { outcome: 'added', note: `branch ${from} has gone on differently here: it is ${to} now` }
  }
  throw new Error('unreachable: the names do not end')
}

function* write(target: RecordTarget, record: BranchRecord, head: PositionRow, keys: Keys): Program<void> {
  yield* run('putBranchRecord', {
    conv: target.conv,
    name: record.name,
    ...headFields(head),
    ...keys,
    title: record.title,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  })
  target.changed = true
}

/** A key belongs to one branch. A branch that has the key in this store keeps it. */
function* keysFor(
  move: RecordWrite,
  target: RecordTarget,
  record: BranchRecord,
  holder: RowOf<'conversationByKey'> | undefined,
): Program<{ readonly keys: Keys; readonly note: string | null }> {
  const { key, formerKey: former_key, trashedKey: trashed_key } = record
  if (key === null) return { keys: { key, former_key, trashed_key }, note: null }
  if (target.trashed) return { keys: { key: null, former_key: key, trashed_key: key }, note: null }
  if (!holder) return { keys: { key, former_key, trashed_key }, note: null }
  if (isExpired(holder, move.now)) {
    yield* giveUpKey(key, holder.id as ConversationId, move.now)
    return { keys: { key, former_key, trashed_key }, note: null }
  }
  const note = `key ${JSON.stringify(key)} belongs to conversation ${holder.id} here: it was not given`
  return { keys: { key: null, former_key: key, trashed_key: null }, note }
}

/** The agent link of a branch in this store is kept. */
export function* putLinkRecord(
  move: RecordWrite,
  target: RecordTarget,
  record: AgentLinkRecord,
): Program<RecordOutcome> {
  const { conv } = target
  const { branch: name, agent, directory } = record
  if (!(yield* first('branch', { conv, name })))
    return refused(`its branch ${JSON.stringify(name)} is missing`)
  const known = yield* all('links', { conv, name })
  if (known.some(link => link.agent === agent && link.directory === directory)) return present
  const seen = record.seen === null ? null : placeIn(move, target, record.seen)
  yield* run('putLink', {
    conv,
    name,
    agent,
    directory,
    foreign_id: record.foreignId,
    seen_seq: seen?.seq ?? null,
    seen_id: seen?.id ?? null,
    now: record.updatedAt,
  })
  target.changed = true
  if (record.seen === null || seen) return added
  return {
    outcome: 'added',
    note: `what agent ${JSON.stringify(agent)} has seen, ${record.seen}, is missing`,
  }
}
