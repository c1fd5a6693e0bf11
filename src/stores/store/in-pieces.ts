import { InvalidError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ListMessages, Page, SkippedRow } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { PurgedConversation, Remnant, SweepOptions, SweepReceipt } from '../../core/removal.ts'
import { nextTurn } from '../../system/event-loop-turns.ts'
import type { Engine } from '../engine/engine.ts'
import { readCursor, writeCursor } from '../programs/cursor.ts'
import { listMessages, type SeqSpan } from '../programs/list.ts'
import { needConversation } from '../programs/lookup.ts'
import * as sweep from '../programs/sweep.ts'
import { dropLoosePrompts, purgeEmpty, purgeSome } from '../programs/trash.ts'

// Operations of several short transactions, so that other writers and the event loop need not wait long.

/** Removes a trashed conversation permanently, and its traces. */
export async function purgeOne(engine: Engine, id: ConversationId): Promise<PurgedConversation> {
  const done = await purgeRows(engine, id)
  return { ...done, remains: done.purged ? await removePurged(engine) : [] }
}

async function purgeRows(engine: Engine, id: ConversationId): Promise<Omit<PurgedConversation, 'remains'>> {
  let from = 0
  let messages = 0
  for (let purged = false; ; purged = true) {
    const done = await engine.write(() => purgeSome(id, from), 'removingSome')
    messages += done.messages
    from = done.next
    if (done.state === 'missing') return { purged, messages }
    if (done.state === 'empty') break
  }
  // Waits for the disk, also for the pieces before it.
  await engine.write(() => purgeEmpty(id), 'removingLast')
  return { purged: true, messages }
}

/** Removes the prompts and the traces of purged conversations. */
async function removePurged(engine: Engine): Promise<readonly Remnant[]> {
  await engine.write(dropLoosePrompts, 'removingLast')
  return engine.removeTraces()
}

export async function sweepAll(engine: Engine, options: SweepOptions): Promise<SweepReceipt> {
  const { dryRun = false, trustClock = false, ifOlderThanMs, beforeTrash } = options
  const now = engine.source.now()
  const nothing = {
    dryRun,
    skipped: false,
    trashed: [],
    purged: [],
    next: null,
    clockJumped: null,
    remains: [],
  }
  const last = trustClock ? null : await engine.query(() => sweep.clockJump(now))
  if (ifOlderThanMs !== undefined && !dryRun) {
    const isOurs = await engine.write(() => sweep.claimSweep(now, ifOlderThanMs))
    if (!isOurs) return { ...nothing, skipped: true }
  }
  if (last !== null) {
    if (!dryRun) await engine.write(() => sweep.noteSweep(now))
    return { ...nothing, clockJumped: { from: new Date(last), to: new Date(now) } }
  }
  if (dryRun) return { ...nothing, ...(await planSweep(engine, now, options)) }
  await engine.write(() => sweep.beginSweep(now))
  const purged: ConversationId[] = []
  for (let after: sweep.SweepPosition | null = sweep.sweepStart; after !== null; ) {
    const from: sweep.SweepPosition = after
    const page = await engine.query(() => sweep.listPurgeable(now, from, sweep.sweepPage))
    for (const id of page.ids) if ((await purgeRows(engine, id)).purged) purged.push(id)
    after = page.next
  }
  const trashed: ConversationId[] = []
  for (let more = true; more; ) {
    const batch = beforeTrash
      ? await trashAfter(engine, now, beforeTrash)
      : await engine.write(() => sweep.trashExpired(now))
    trashed.push(...batch)
    more = batch.length === sweep.sweepBatch
  }
  return { ...nothing, trashed, purged, remains: purged.length > 0 ? await removePurged(engine) : [] }
}

/** What a sweep would do: all of it, or a page. First what it would trash, then what it would purge. */
async function planSweep(
  engine: Engine,
  now: number,
  { limit = Number.POSITIVE_INFINITY, after }: SweepOptions,
): Promise<Pick<SweepReceipt, 'trashed' | 'purged' | 'next'>> {
  const planned: Record<PlannedList, ConversationId[]> = { trashed: [], purged: [] }
  let place: PlanPlace | null = after === undefined ? planStart('trashed') : readPlace(after)
  for (let left = limit; left > 0 && place !== null; ) {
    const { list, ...from }: PlanPlace = place
    const most = Math.min(left, sweep.sweepPage)
    const page: sweep.SweepPage = await engine.query(() =>
      list === 'trashed' ? sweep.listExpired(now, from, most) : sweep.listPurgeable(now, from, most, 1),
    )
    planned[list].push(...page.ids)
    left -= page.ids.length
    if (page.next) place = { list, ...page.next }
    else place = list === 'trashed' ? planStart('purged') : null
    // The event loop turns between two pages.
    if (place !== null) await nextTurn()
  }
  const next = place && writeCursor([place.list, place.at, place.position])
  return { ...planned, next }
}

type PlannedList = 'trashed' | 'purged'
type PlanPlace = sweep.SweepPosition & { readonly list: PlannedList }

function planStart(list: PlannedList): PlanPlace {
  return { list, ...sweep.sweepStart }
}

function readPlace(after: string): PlanPlace {
  const [list, at, position] = readCursor(after, ['string', 'number', 'string']) as [string, number, string]
  const isPlace = (list === 'trashed' || list === 'purged') && /^(\d+|[\da-f-]{36})$/.test(position)
  if (!isPlace) throw new InvalidError('after', 'is not a cursor of this list: pass the value of `next`')
  return { list, at, position }
}

/** Passes the next expired conversations to `before`, and moves them to the trash unless they have changed
 *  meanwhile. The next sweep takes those that have. */
async function trashAfter(
  engine: Engine,
  now: number,
  before: (id: ConversationId) => Promise<void>,
): Promise<readonly ConversationId[]> {
  const seen = await engine.query(() => sweep.nextExpired(now))
  for (const id of seen.keys()) await before(id)
  return engine.write(() => sweep.trashUnchanged(seen, now))
}

/** Lists messages. A filter may have to look at a whole conversation to fill a page; an engine whose
 *  statements block the process does so in pieces, between which the event loop turns. */
export async function listInPieces(engine: Engine, options: ListMessages): Promise<Page<Message>> {
  const { rowsPerStatement: rows } = engine
  const isFiltered = options.roles !== undefined || options.label !== undefined
  if (rows === null || !isFiltered) return engine.read(() => listMessages(options), 'one')
  const { next_seq: end } = await engine.query(() => needConversation(options.conversationId))
  if (end <= rows) return engine.read(() => listMessages(options))

  const { limit = 100, offset = 0, after, order, afterSeq = -1 } = options
  const { after: _, offset: __, ...filter } = options
  const isUp = order === 'ascending'
  const wanted = offset + limit + 1
  const items: Message[] = []
  const skipped: SkippedRow[] = []
  let at = after === undefined ? (isUp ? -1 : end) : (readCursor(after, ['seq'])[0] as number)
  if (isUp) at = Math.max(at, afterSeq)
  while (items.length < wanted && (isUp ? at < end - 1 : at > afterSeq + 1)) {
    const span: SeqSpan = isUp ? { above: at, below: at + rows + 1 } : { above: at - rows - 1, below: at }
    const missing = wanted - items.length
    const page = await engine.read(() => listMessages({ ...filter, limit: missing }, span))
    items.push(...page.items)
    skipped.push(...(page.skipped ?? []))
    at = isUp ? span.below - 1 : span.above + 1
    await nextTurn()
  }
  const shown = items.slice(offset, wanted - 1)
  const last = shown.at(-1)
  const next = items.length === wanted && last ? writeCursor([last.seq]) : null
  return { items: shown, skipped, next }
}
