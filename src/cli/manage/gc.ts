import { readConfig } from '../../config/read-config.ts'
import { trashGraceMs } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationFilter, ListedConversation } from '../../core/listing.ts'
import type { Maintainer } from '../../core/maintainer.ts'
import type { Meter } from '../../core/measure.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import type { RecordMover } from '../../core/record.ts'
import type { CompactReceipt, SweepReceipt } from '../../core/removal.ts'
import { avoidOptimizedCode, preferSmallHeap } from '../../system/small-heap.ts'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { padEnd, padStart } from '../output/cut.ts'
import { formatBytes, formatInteger, plural } from '../output/number.ts'
import { type JsonMember, noteLine, printJsonObject } from '../output/print.ts'
import { formatTime } from '../output/time.ts'
import { smallCache } from '../store/open-configured-store.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { withArchive } from '../transfer/archive.ts'
import { yieldToEventLoop } from '../transfer/yield-to-event-loop.ts'
import { eachConversation } from './all-conversations.ts'
import { forgetLines, inputsOf, tellInputs } from './remnants.ts'

/** `skein gc`: moves expired conversations to the trash, and purges old ones from it. */
export const gcCommand: CommandHandler = (args, context) => {
  preferSmallHeap()
  avoidOptimizedCode()
  return withStore(context, sweep, smallCache(context.location()))

  async function sweep(opened: GcStore): Promise<number> {
    const store = withArchive(opened, await readConfig(context.cwd, context.env), context)
    const dryRun = hasOption(args, 'dry-run')
    const trustClock = await isPlausible(store)
    const swept = dryRun
      ? await planSweep(store, trustClock, context.now())
      : await sweepCounted(store, trustClock, context)
    const compacted = hasOption(args, 'compact') ? await store.compact() : null
    const now = context.now()
    if (context.json) await printJsonObject(context, jsonOf(swept, compacted, keptBy(swept, store, now), now))
    else if (!context.quiet)
      tell(context, swept, compacted, dryRun ? await countKept(swept, store, now) : noneKept)
    return exitCode.ok
  }
}

/** The longest time between two runs of `gc` that is not taken for a wrong clock. */
const longestPauseMs = 400 * 86_400_000

/** Whether the clock may be trusted: it has not moved since the last sweep, or by a time that a person may
 *  let pass between two runs. */
async function isPlausible(store: Maintainer): Promise<boolean> {
  const { clockJumped } = await store.sweep({ dryRun: true, limit: 1 })
  if (clockJumped === null) return true
  const pause = clockJumped.to.getTime() - clockJumped.from.getTime()
  return pause > 0 && pause <= longestPauseMs
}

/** Conversations that are read at once: enough for few statements, and few in memory. */
const pageSize = 500

/** What a sweep would do, page by page: first what it would move to the trash. */
async function* plannedPages(store: Maintainer, trustClock: boolean): AsyncGenerator<SweepReceipt> {
  for (let after: string | null | undefined; after !== null; ) {
    const limit = { limit: pageSize, ...(after && { after }) }
    const page: SweepReceipt = await store.sweep({ dryRun: true, trustClock, ...limit })
    yield page
    after = page.next
  }
}

async function* plannedTrash(store: Maintainer, trustClock: boolean): AsyncGenerator<ConversationId> {
  for await (const { trashed, purged } of plannedPages(store, trustClock)) {
    if (trashed.length === 0 && purged.length > 0) return
    yield* trashed
  }
}

/** What would be purged: the planned ones, and what has been in the trash long enough. */
async function plannedPurges(
  store: Lister & Maintainer,
  trustClock: boolean,
  now: number,
): Promise<readonly ConversationId[]> {
  const due = new Set<ConversationId>()
  for await (const { purged, clockJumped } of plannedPages(store, trustClock)) {
    if (clockJumped) return []
    for (const id of purged) due.add(id)
  }
  for (const id of await overdueIn(store, now)) due.add(id)
  return [...due]
}

/** Large, because no index orders the trash as a list needs it: each page looks at all of it. */
const trashPage = 300

/** What has been in the trash long enough. The store also waits for two sweeps, as a safeguard of automatic
 *  ones; a person who runs `gc` has decided. */
async function overdueIn(store: Lister, now: number): Promise<readonly ConversationId[]> {
  const overdue: ConversationId[] = []
  for await (const { id, trashedAt } of yieldToEventLoop(
    eachConversation(store, { trashed: true }, trashPage),
  ))
    if (trashedAt!.getTime() <= now - trashGraceMs) overdue.push(id)
  return overdue
}

/** What a sweep has done, or would do. */
interface Swept {
  readonly dryRun: boolean
  readonly trashed: Removed
  readonly purged: Removed
  readonly clockJumped: SweepReceipt['clockJumped']
  /** Lines removed from the input history; null if it could not be written. */
  readonly inputs: number | null
}

/** Removed conversations: their number, their ids, which may be too many for the memory, and their size. */
interface Removed extends Amount {
  readonly count: number
  readonly ids: Iterable<ConversationId> | AsyncIterable<ConversationId>
}

/** The ids are not kept: the plan is read again where they are printed. */
async function planSweep(store: PlannedStore, trustClock: boolean, now: number): Promise<Swept> {
  const { clockJumped } = await store.sweep({ dryRun: true, trustClock, limit: 1 })
  const due = await plannedPurges(store, trustClock, now)
  const removed = async (ids: Removed['ids']): Promise<Removed> => {
    let [count, all] = [0, noAmount]
    for await (const [, amount] of yieldToEventLoop(amountsOf(store, ids, true))) {
      count++
      all = plus(all, amount)
    }
    return { ...all, count, ids }
  }
  const expired = { [Symbol.asyncIterator]: () => plannedTrash(store, trustClock) }
  return {
    dryRun: true,
    trashed: await removed(expired),
    purged: await removed(due),
    clockJumped,
    inputs: 0,
  }
}

type PlannedStore = ConversationReader & Lister & Maintainer & Meter
type GcStore = PlannedStore & Pick<RecordMover, 'readRecords'>

/** Sweeps. The conversations and the repeated lines of the input history are read before, while they
 *  exist. */
async function sweepCounted(
  store: PlannedStore,
  trustClock: boolean,
  context: CommandContext,
): Promise<Swept> {
  const due = await plannedPurges(store, trustClock, context.now())
  const amounts = new Map<string, Amount>()
  for (const ids of [plannedTrash(store, trustClock), due])
    for await (const [id, amount] of yieldToEventLoop(amountsOf(store, ids, context.json)))
      amounts.set(id, amount)
  const repeated = new Set<string>()
  for (const id of due) for (const line of await inputsOf(store, id, context)) repeated.add(line)
  const { trashed, purged, clockJumped } = await sweepOnce(store, due, trustClock)
  const removed = (ids: readonly ConversationId[]): Removed => {
    const sum = ids.reduce((all, id) => plus(all, amounts.get(id) ?? unknownAmount), noAmount)
    return { ...sum, count: ids.length, ids }
  }
  return {
    dryRun: false,
    trashed: removed(trashed),
    purged: removed(purged),
    clockJumped,
    inputs: purged.length > 0 ? forgetLines(repeated, context) : 0,
  }
}

/** Sweeps, and once more if the first sweep has left something that is old enough. */
async function sweepOnce(
  store: Maintainer,
  due: readonly ConversationId[],
  trustClock: boolean,
): Promise<SweepReceipt> {
  const first = await store.sweep({ trustClock })
  const gone = new Set(first.purged)
  if (first.clockJumped || due.every(id => gone.has(id))) return first
  const second = await store.sweep()
  return {
    ...first,
    trashed: [...first.trashed, ...second.trashed],
    purged: [...first.purged, ...second.purged],
    remains: second.remains,
  }
}

function* jsonOf(
  { dryRun, trashed, purged, clockJumped, inputs }: Swept,
  compacted: CompactReceipt | null,
  kept: AsyncIterable<Kept>,
  at: number,
): Generator<JsonMember> {
  yield { name: 'receipt', value: dryRun ? null : new Date(at).toISOString() }
  yield { name: 'dry_run', value: dryRun }
  yield { name: 'trashed', items: trashed.ids }
  yield { name: 'purged', items: purged.ids }
  yield { name: 'kept', items: kept }
  yield { name: 'bytes', value: (trashed.bytes ?? 0) + (purged.bytes ?? 0) }
  yield { name: 'trashed_messages', value: trashed.messages }
  yield { name: 'purged_messages', value: purged.messages }
  const sizes = compacted && {
    bytes_before: compacted.bytesBefore,
    bytes_after: compacted.bytesAfter,
    remains: compacted.remains,
  }
  yield { name: 'compacted', value: sizes }
  const jump = clockJumped && {
    from: clockJumped.from.toISOString(),
    to: clockJumped.to.toISOString(),
  }
  yield { name: 'clock_jumped', value: jump }
  yield { name: 'input_lines', value: inputs }
}

function tell(
  context: CommandContext,
  swept: Swept,
  compacted: CompactReceipt | null,
  kept: KeptCounts,
): void {
  tellSweep(context, swept, kept)
  tellInputs(swept.inputs, context)
  if (compacted === null) return
  const [before, after] = [compacted.bytesBefore, compacted.bytesAfter].map(formatBytes)
  context.err.line(`compacted the store from ${before} to ${after}`)
  if (compacted.remains.includes('log') && context.location().isFile)
    context.err.line(noteLine('another process uses the store, so its log was not emptied', context.err))
}

function tellSweep(
  context: CommandContext,
  { dryRun, trashed, purged, clockJumped }: Swept,
  kept: KeptCounts,
): void {
  const { err } = context
  const { dot, note } = err.style.symbols
  const skein = skeinCommand(context)
  if (clockJumped) {
    const from = formatTime(clockJumped.from)
    err.line(
      `${err.style.note(note)} the clock has moved by more than a day since ${from}, so nothing was removed`,
    )
    err.line(dryRun ? 'nothing was changed' : `nothing was changed. If the clock is right: ${skein} gc`)
    return
  }
  const [moves, deletes] = dryRun
    ? ['would move to trash', 'would delete for good']
    : ['moved to trash', 'deleted for good']
  const lines = [
    { verb: moves, removed: trashed, why: 'expired' },
    { verb: deletes, removed: purged, why: 'in the trash for 7 days' },
  ].filter(({ removed }) => removed.count > 0)
  const width = Math.max(0, ...lines.map(({ verb }) => verb.length))
  for (const { verb, removed, why } of lines) {
    const count = padStart(plural(removed.count, 'conversation'), 17)
    const weight = removed.bytes === null ? '' : `, ${formatBytes(removed.bytes)}`
    err.line(`${padEnd(verb, width)}  ${count}, ${plural(removed.messages, 'message')}${weight}   (${why})`)
  }
  if (kept['no task'] + kept['someone is answering'] > 0)
    err.line(keptLine(kept, dryRun ? 'would keep' : 'kept', width))
  if (lines.length === 0) err.line('nothing has expired, and nothing in the trash is old enough')
  if (!dryRun) {
    if (trashed.count > 0) err.line(`back from the trash: ${skein} restore <id>`)
  } else if (lines.length > 0) {
    err.line(`nothing was changed. Do it: ${skein} gc ${dot} name them: ${skein} gc --dry-run --json`)
  }
}

/** The line about expired conversations that are kept, with the reasons. */
function keptLine(kept: KeptCounts, verb: string, width: number): string {
  const { 'no task': own, 'someone is answering': live } = kept
  const why = [
    ...(own > 0 ? [`${formatInteger(own)} ${own === 1 ? 'has' : 'have'} no task`] : []),
    ...(live > 0 ? [`${formatInteger(live)} being answered`] : []),
  ]
  const count = padStart(plural(own + live, 'conversation'), 17)
  return `${padEnd(verb, width)}  ${count}   (expired: ${why.join(', ')})`
}

/** The size of a conversation: its messages, and the bytes of their content including blobs. */
interface Amount {
  readonly messages: number
  /** Null if not measured. */
  readonly bytes: number | null
}

/** An expired conversation that the sweep keeps. */
interface Kept {
  readonly id: ConversationId
  readonly reason: 'no task' | 'someone is answering'
}

const noAmount: Amount = { messages: 0, bytes: 0 }
/** Of a conversation that another process has made ready for the sweep meanwhile. */
const unknownAmount: Amount = { messages: 0, bytes: null }

function plus(one: Amount, other: Amount): Amount {
  const bytes = one.bytes === null || other.bytes === null ? null : one.bytes + other.bytes
  return { messages: one.messages + other.messages, bytes }
}

/** The number of kept conversations by reason. */
type KeptCounts = Readonly<Record<Kept['reason'], number>>

const noneKept: KeptCounts = { 'no task': 0, 'someone is answering': 0 }

/** Counts the messages of each conversation. `measure` also reads them and adds up their bytes. */
async function* amountsOf(
  store: ConversationReader & Meter,
  ids: Removed['ids'],
  measure: boolean,
): AsyncGenerator<readonly [ConversationId, Amount]> {
  for await (const id of ids) {
    if (measure) yield [id, await store.measureConversation(id)]
    else yield [id, { messages: (await store.getConversation(id)).messages, bytes: null }]
  }
}

/** Expired conversations that a sweep keeps: those without a task, which expire without being removed, and
 *  those that are being answered. */
async function* keptBy(swept: Swept, store: Lister, now: number): AsyncGenerator<Kept> {
  const { 'no task': own, 'someone is answering': live } = await countKept(swept, store, now)
  if (own > 0)
    for await (const { id } of eachExpired(store, now, { task: null })) yield { id, reason: 'no task' }
  if (live === 0) return
  const gone = new Set<string>()
  for await (const id of swept.trashed.ids) gone.add(id)
  for await (const { id, task } of eachExpired(store, now))
    if (task !== null && !gone.has(id)) yield { id, reason: 'someone is answering' }
}

/** Counts the expired conversations that a sweep keeps. After a real sweep, those that it moved to the trash
 *  are not in the list of expired ones; after a dry run they still are. */
async function countKept(
  { dryRun, trashed, clockJumped }: Swept,
  store: Lister,
  now: number,
): Promise<KeptCounts> {
  if (clockJumped) return noneKept
  const expiredBy = new Date(now)
  const all = await store.countConversations({ expiredBy })
  const own = await store.countConversations({ expiredBy, task: null })
  const live = all - own - (dryRun ? trashed.count : 0)
  return { 'no task': own, 'someone is answering': Math.max(0, live) }
}

function eachExpired(
  store: Lister,
  now: number,
  filter: ConversationFilter = {},
): AsyncGenerator<ListedConversation> {
  return yieldToEventLoop(eachConversation(store, { ...filter, expiredBy: new Date(now) }))
}
