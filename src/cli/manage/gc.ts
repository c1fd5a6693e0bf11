import { readConfig } from '../../config/read-config.ts'
import { encodeBody } from '../../core/body.ts'
import { trashGraceMs } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import { contentOf } from '../../core/message.ts'
import type { ConversationReader, Lister, Maintainer } from '../../core/ports.ts'
import type { CompactReceipt, SweepReceipt } from '../../core/removal.ts'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { padEnd, padStart } from '../output/cut.ts'
import { formatBytes, formatInteger, plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { formatTime } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { withArchive } from '../transfer/archive.ts'
import { eachConversation } from './all-conversations.ts'
import { forgetLines, inputsOf, tellInputs } from './remnants.ts'

/** `skein gc`: moves expired conversations to the trash, and purges old ones from it. */
export const gcCommand: CommandHandler = (args, context) =>
  withStore(context, async opened => {
    const store = withArchive(opened, await readConfig(context.cwd, context.env), context)
    const dryRun = hasOption(args, 'dry-run')
    // Counted before the sweep, while the conversations exist. Their sizes require reading everything.
    const trustClock = await isPlausible(store)
    const dry = await store.sweep({ dryRun: true, trustClock })
    const planned = withOverdue(dry, await overdueIn(store, context.now()))
    const isWeighed = dryRun || context.json
    const amounts = await amountsOf(store, [...planned.trashed, ...planned.purged], { measure: isWeighed })
    const repeated = new Set<string>()
    if (!dryRun)
      for (const id of planned.purged)
        for (const line of await inputsOf(store, id, context)) repeated.add(line)
    const receipt = dryRun ? planned : await sweepOnce(store, planned.purged, trustClock)
    const inputs = receipt.purged.length > 0 && !dryRun ? forgetLines(repeated, context) : 0
    const compacted = hasOption(args, 'compact') ? await store.compact() : null
    const kept = isWeighed ? await keptBy(receipt, store, context.now()) : []
    const swept: Swept = { receipt, amounts, kept, compacted, inputs, at: context.now() }
    if (context.json) context.out.line(JSON.stringify(jsonOf(swept)))
    else tell(context, swept)
    return exitCode.ok
  })

/** The longest time between two runs of `gc` that is not taken for a wrong clock. */
const longestPauseMs = 400 * 86_400_000

/** Whether the clock may be trusted: it has not moved since the last sweep, or by a time that a person may
 *  let pass between two runs. */
async function isPlausible(store: Maintainer): Promise<boolean> {
  const { clockJumped } = await store.sweep({ dryRun: true })
  if (clockJumped === null) return true
  const pause = clockJumped.to.getTime() - clockJumped.from.getTime()
  return pause > 0 && pause <= longestPauseMs
}

/** What has been in the trash long enough. The store also waits for two sweeps, as a safeguard of automatic
 *  ones; a person who runs `gc` has decided. */
async function overdueIn(store: Lister, now: number): Promise<readonly ConversationId[]> {
  const overdue: ConversationId[] = []
  for await (const { id, trashedAt } of eachConversation(store, { trashed: true }))
    if (trashedAt!.getTime() <= now - trashGraceMs) overdue.push(id)
  return overdue
}

function withOverdue(receipt: SweepReceipt, overdue: readonly ConversationId[]): SweepReceipt {
  if (receipt.clockJumped) return receipt
  return { ...receipt, purged: [...new Set([...receipt.purged, ...overdue])] }
}

/** Sweeps, and once more if the first sweep has left something that is old enough. */
async function sweepOnce(
  store: Maintainer,
  due: readonly ConversationId[],
  trustClock: boolean,
): Promise<SweepReceipt> {
  const first = await store.sweep({ trustClock })
  if (first.clockJumped || due.every(id => first.purged.includes(id))) return first
  const second = await store.sweep()
  return {
    ...first,
    trashed: [...first.trashed, ...second.trashed],
    purged: [...first.purged, ...second.purged],
    remains: second.remains,
  }
}

interface Swept {
  readonly receipt: SweepReceipt
  readonly amounts: ReadonlyMap<string, Amount>
  readonly kept: readonly Kept[]
  /** Null without --compact. */
  readonly compacted: CompactReceipt | null
  /** Lines removed from the input history; null if it could not be written. */
  readonly inputs: number | null
  readonly at: number
}

function jsonOf({ receipt, amounts, kept, compacted, inputs, at }: Swept) {
  const { dryRun, trashed, purged, clockJumped } = receipt
  const [moved, deleted] = [sumOf(trashed, amounts), sumOf(purged, amounts)]
  return {
    receipt: dryRun ? null : new Date(at).toISOString(),
    dry_run: dryRun,
    trashed,
    purged,
    kept,
    bytes: (moved.bytes ?? 0) + (deleted.bytes ?? 0),
    trashed_messages: moved.messages,
    purged_messages: deleted.messages,
    compacted: compacted && {
      bytes_before: compacted.bytesBefore,
      bytes_after: compacted.bytesAfter,
      remains: compacted.remains,
    },
    clock_jumped: clockJumped && {
      from: clockJumped.from.toISOString(),
      to: clockJumped.to.toISOString(),
    },
    input_lines: inputs,
  }
}

function tell(context: CommandContext, swept: Swept): void {
  if (context.quiet) return
  tellSweep(context, swept)
  tellInputs(swept.inputs, context)
  const { compacted } = swept
  if (compacted === null) return
  const [before, after] = [compacted.bytesBefore, compacted.bytesAfter].map(formatBytes)
  context.err.line(`compacted the store from ${before} to ${after}`)
  if (compacted.remains.includes('log') && context.location().isFile)
    context.err.line(noteLine('another process uses the store, so its log was not emptied', context.err))
}

function tellSweep(context: CommandContext, { receipt, amounts, kept }: Swept): void {
  const { err } = context
  const { dot, note } = err.style.symbols
  const { dryRun, trashed, purged, clockJumped } = receipt
  const skein = skeinCommand(context)
  if (clockJumped) {
    const from = formatTime(clockJumped.from)
    err.line(
      `${err.style.note(note)} the clock has moved by more than a day since ${from}, so nothing was removed`,
    )
    err.line(dryRun ? 'nothing was changed' : `nothing was changed. If the clock is right: ${skein} gc`)
    return
  }
  const lines = [
    { verb: dryRun ? 'would move to trash' : 'moved to trash', ids: trashed, why: 'expired' },
    {
      verb: dryRun ? 'would delete for good' : 'deleted for good',
      ids: purged,
      why: 'in the trash for 7 days',
    },
  ].filter(({ ids }) => ids.length > 0)
  const width = Math.max(0, ...lines.map(({ verb }) => verb.length))
  for (const { verb, ids, why } of lines) {
    const count = padStart(plural(ids.length, 'conversation'), 17)
    const { messages, bytes: size } = sumOf(ids, amounts)
    const weight = size === null ? '' : `, ${formatBytes(size)}`
    err.line(`${padEnd(verb, width)}  ${count}, ${plural(messages, 'message')}${weight}   (${why})`)
  }
  if (kept.length > 0) err.line(keptLine(kept, dryRun ? 'would keep' : 'kept', width))
  if (lines.length === 0) err.line('nothing has expired, and nothing in the trash is old enough')
  if (!dryRun) {
    if (trashed.length > 0) err.line(`back from the trash: ${skein} restore <id>`)
  } else if (lines.length > 0) {
    err.line(`nothing was changed. Do it: ${skein} gc ${dot} name them: ${skein} gc --dry-run --json`)
  }
}

/** The line about expired conversations that are kept, with the reasons. */
function keptLine(kept: readonly Kept[], verb: string, width: number): string {
  const of = (reason: Kept['reason']) => kept.filter(one => one.reason === reason).length
  const [own, live] = [of('no task'), of('someone is answering')]
  const why = [
    ...(own > 0 ? [`${formatInteger(own)} ${own === 1 ? 'has' : 'have'} no task`] : []),
    ...(live > 0 ? [`${formatInteger(live)} being answered`] : []),
  ]
  const count = padStart(plural(kept.length, 'conversation'), 17)
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

/** Counts the messages of each conversation. `measure` also reads them and adds up their bytes. */
async function amountsOf(
  store: ConversationReader & Lister,
  ids: readonly ConversationId[],
  { measure }: { readonly measure: boolean },
): Promise<ReadonlyMap<string, Amount>> {
  const amounts = new Map<string, Amount>()
  for (const id of ids) {
    const { messages } = await store.getConversation(id)
    amounts.set(id, { messages, bytes: measure ? await bytesOf(store, id) : null })
  }
  return amounts
}

function sumOf(ids: readonly string[], amounts: ReadonlyMap<string, Amount>): Amount {
  let [messages, bytes]: [number, number | null] = [0, 0]
  for (const id of ids) {
    const amount = amounts.get(id)
    messages += amount?.messages ?? 0
    bytes = bytes === null || amount === undefined || amount.bytes === null ? null : bytes + amount.bytes
  }
  return { messages, bytes }
}

async function bytesOf(store: Lister, conversationId: ConversationId): Promise<number> {
  let sum = 0
  for (let after: string | null | undefined; after !== null; ) {
    const page: Awaited<ReturnType<Lister['listMessages']>> = await store.listMessages({
      conversationId,
      limit: 200,
      ...(after === undefined ? {} : { after }),
    })
    for (const message of page.items) {
      const { text, blobs } = encodeBody(contentOf(message), message.metadata ?? undefined)
      sum += Buffer.byteLength(text) + blobs.reduce((all, { data }) => all + data.byteLength, 0)
    }
    after = page.next
  }
  return sum
}

/** Expired conversations that a sweep keeps: those without a task, which expire without being removed, and
 *  those that are being answered. */
async function keptBy(
  { trashed, clockJumped }: SweepReceipt,
  store: Lister,
  now: number,
): Promise<readonly Kept[]> {
  if (clockJumped) return []
  const gone = new Set<string>(trashed)
  const kept: Kept[] = []
  for await (const { id, task } of eachConversation(store, { expiredBy: new Date(now) })) {
    if (gone.has(id)) continue
    kept.push({ id, reason: task === null ? 'no task' : 'someone is answering' })
  }
  return kept
}
