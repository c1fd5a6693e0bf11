import { sha256Hex } from '../../../core/hash.ts'
import type {
  DraftRecord,
  EventRecord,
  RecordOutcome,
  SummaryRecord,
  TurnRecord,
} from '../../../core/record.ts'
import { containsSeq } from '../../../core/runs.ts'
import { leaseMs } from '../../../core/turn.ts'
import { all, first, type Program, run } from '../../engine/engine.ts'
import { holderText } from '../../engine/row-to-value.ts'
import type { TurnRow } from '../../engine/rows.ts'
import { storedObject } from '../../engine/stored-fields.ts'
import {
  added,
  advanced,
  placeIn,
  present,
  type RecordTarget,
  type RecordWrite,
  refused,
  seqOf,
} from './record-write.ts'

/** An open turn that has continued in the source is continued here, unless a process holds it. */
export function* putTurnRecord(
  move: RecordWrite,
  target: RecordTarget,
  record: TurnRecord,
): Program<RecordOutcome> {
  const { conv } = target
  const { key, branch } = record
  const from = seqOf(move, target, record.first)
  const to = seqOf(move, target, record.last)
  if (from === null || to === null || to < from) return refused('its messages are missing')
  const row = rowOf(record, from, to, move.now)
  const known = target.turns.get(key)
  if (known) {
    if (!isFurther(known, row, move.now)) return present
    yield* run('deleteDrafts', { conv, turn: key })
    target.lastDrafts.set(key, -1)
  } else if (record.status === 'open' && (yield* first('openTurnOn', { conv, name: branch }))) {
    return refused(`another turn is open on branch ${JSON.stringify(branch)}`)
  }
  yield* run(known ? 'putTurnRecord' : 'insertTurnRecord', { conv, ...row })
  target.turns.set(key, row)
  target.changed = true
  return known ? advanced : added
}

function rowOf(record: TurnRecord, from: number, to: number, now: number): TurnRow {
  const open = record.status === 'open'
  return {
    key: record.key,
    branch: record.branch,
    first: from,
    last: to,
    last_step: record.lastStep,
    status: record.status,
    model: record.model,
    prompt_hash: record.promptHash,
    usage: JSON.stringify(record.usage),
    holder: record.holder && holderText(record.holder),
    // A file must not hold a branch longer than a lease.
    lease_until: open ? Math.min(record.leaseUntil ?? 0, now + leaseMs) : record.leaseUntil,
    started_at: record.startedAt,
    ended_at: record.endedAt,
  }
}

function isFurther(known: TurnRow, row: TurnRow, now: number): boolean {
  if (known.status !== 'open' || known.first !== row.first) return false
  if (known.holder !== row.holder && (known.lease_until ?? 0) > now) return false
  return row.last > known.last || (row.status !== 'open' && row.last === known.last)
}

export function* putDraftRecord(target: RecordTarget, record: DraftRecord): Program<RecordOutcome> {
  const { conv, lastDrafts } = target
  const { turn: key, n, type, text } = record
  let last = lastDrafts.get(key)
  if (last === undefined) {
    const turn = yield* first('turn', { conv, key })
    if (!turn) return refused(`its turn ${JSON.stringify(key)} is missing`)
    // It became a message, or was given up.
    if (turn.status !== 'open') return present
    last = (yield* first('lastDraft', { conv, turn: key }))?.n ?? -1
    lastDrafts.set(key, last)
  }
  if (n <= last) return present
  if (n > last + 1) return refused(`piece ${last + 1} of its turn is missing`)
  yield* run('insertDraft', { conv, turn: key, n, type, text: JSON.stringify(text) })
  lastDrafts.set(key, n)
  target.changed = true
  return added
}

export function* putSummaryRecord(
  move: RecordWrite,
  target: RecordTarget,
  record: SummaryRecord,
): Program<RecordOutcome> {
  const { conv } = target
  const [from, to] = [placeIn(move, target, record.first), placeIn(move, target, record.last)]
  if (!from || !to) return refused('its messages are missing')
  const runs = yield* all('pathRuns', { conv, seq: to.seq })
  if (!containsSeq(runs, from.seq)) return refused('it does not begin on the path where it ends')
  const ids: string[] = []
  for (const { lo, hi } of runs.filter(({ hi }) => hi >= from.seq).toReversed()) {
    const span = { conv, lo: Math.max(lo, from.seq), hi }
    for (const { id } of yield* all('idsBetween', span)) ids.push(id)
    for (const { erased } of yield* all('erasedBetween', span)) {
      const { at } = storedObject<{ at: number }>(erased, 'erasure', `a message up to ${to.id}`)
      if (at > record.createdAt) return refused('it was made of words that have been erased here')
    }
  }
  if (sha256Hex(ids.map(id => `${id}\n`).join('')) !== record.checksum)
    return refused('its checksum is not that of its messages')
  const range = { conv, first_seq: from.seq, last_seq: to.seq }
  const known = yield* first('summary', range)
  if (known && known.text !== null) return present
  yield* run('putSummaryRecord', {
    ...range,
    first_id: from.id,
    last_id: to.id,
    model: record.model,
    tokens: record.tokens,
    text: record.text,
    checksum: record.checksum,
    created_at: record.createdAt,
  })
  target.changed = true
  return added
}

/** Most numbers that a file may skip. After a wider gap, an event gets the next number. */
const widestGap = 10_000

/** An event is identified by its number only. An equal event is the same one. If the number is taken by
 *  another event, it gets the next number. */
export function* putEventRecord(
  move: RecordWrite,
  target: RecordTarget,
  record: EventRecord,
): Program<RecordOutcome> {
  const { conv } = target
  const event = { type: record.type, at: record.at, data: JSON.stringify(record.data) }
  let { n } = record
  if (n < target.nextEvent || n > target.nextEvent + widestGap) {
    const there = (yield* eventsOf(move, target)).get(n)
    if (there?.type === event.type && there.at === event.at && there.data === event.data) return present
    if (there || n >= target.nextEvent) {
      if (yield* first('eventLike', { conv, ...event })) return present
      n = target.nextEvent
    }
  }
  yield* run('insertEvent', { conv, n, ...event })
  target.events?.set(n, event)
  target.nextEvent = Math.max(target.nextEvent, n + 1)
  target.eventsAdded = true
  return added
}

/** The stored events within the numbers of this call. */
function* eventsOf(move: RecordWrite, target: RecordTarget): Program<NonNullable<RecordTarget['events']>> {
  if (target.events) return target.events
  const numbers = move.records.flatMap(record =>
    record.kind === 'event' && record.conversationId === target.id ? [record.n] : [],
  )
  const events: NonNullable<RecordTarget['events']> = new Map()
  for (let after = Math.min(...numbers) - 1; ; ) {
    const rows = yield* all('events', { conv: target.conv, after, types: null, limit: 1_000 })
    for (const { n, type, at, data } of rows) events.set(n, { type, at, data })
    after = rows.at(-1)?.n ?? 0
    if (rows.length < 1_000 || after >= Math.max(...numbers)) break
  }
  target.events = events
  return events
}
