import type { ConversationId } from '../../core/ids.ts'
import type { Store, SweepReceipt } from '../../core/ports.ts'
import { hasOption, type Run } from '../command.ts'
import { exit } from '../exit.ts'
import { withStore } from '../look/look.ts'
import { padEnd, padStart } from '../terminal/cut.ts'
import { plural } from '../terminal/number.ts'
import { localTime } from '../terminal/time.ts'
import type { World } from '../world.ts'

/** Moves what has expired to the trash, and empties the trash of what has lain there for long. */
export const gc: Run = (given, world) =>
  withStore(world, async store => {
    const dryRun = hasOption(given, 'dry-run')
    // Counted before it is done: afterwards nobody can count it.
    const planned = await store.sweep({ dryRun: true })
    const messages = await countMessages(store, [...planned.trashed, ...planned.purged])
    const receipt = dryRun ? planned : await store.sweep()
    if (world.json) world.out.line(JSON.stringify(jsonOf(receipt, messages)))
    else tell(world, receipt, messages)
    return exit.ok
  })

async function countMessages(
  store: Store,
  ids: readonly ConversationId[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (await store.getConversation(id)).messages)
  return counts
}

function sum(ids: readonly string[], messages: ReadonlyMap<string, number>): number {
  return ids.reduce((total, id) => total + (messages.get(id) ?? 0), 0)
}

function jsonOf(
  { dryRun, trashed, purged, clockJumped }: SweepReceipt,
  messages: ReadonlyMap<string, number>,
) {
  return {
    dry_run: dryRun,
    trashed,
    purged,
    trashed_messages: sum(trashed, messages),
    purged_messages: sum(purged, messages),
    clock_jumped: clockJumped && {
      from: clockJumped.from.toISOString(),
      to: clockJumped.to.toISOString(),
    },
  }
}

function tell(world: World, receipt: SweepReceipt, messages: ReadonlyMap<string, number>): void {
  if (world.quiet) return
  const { err } = world
  const { dot, note } = err.style.symbols
  const { dryRun, trashed, purged, clockJumped } = receipt
  if (clockJumped) {
    const from = localTime(clockJumped.from)
    err.line(
      `${err.style.note(note)} the clock has moved by more than a day since ${from}, so nothing is thrown away now`,
    )
    err.line(dryRun ? 'nothing was changed' : 'nothing was changed. If the clock is right: skein gc')
    return
  }
  const lines = [
    { verb: dryRun ? 'would move to trash' : 'moved to trash', ids: trashed, why: 'expired' },
    {
      verb: dryRun ? 'would delete for good' : 'deleted for good',
      ids: purged,
      why: 'in the trash for 7 days and two sweeps',
    },
  ].filter(({ ids }) => ids.length > 0)
  const width = Math.max(0, ...lines.map(({ verb }) => verb.length))
  for (const { verb, ids, why } of lines) {
    const count = padStart(plural(ids.length, 'conversation'), 17)
    err.line(`${padEnd(verb, width)}  ${count}, ${plural(sum(ids, messages), 'message')}   (${why})`)
  }
  if (lines.length === 0) err.line('nothing has expired, and nothing in the trash is old enough')
  if (!dryRun) {
    if (trashed.length > 0) err.line('back from the trash: skein restore <id>')
  } else if (lines.length > 0) {
    err.line(`nothing was changed. Do it: skein gc ${dot} name them: skein gc --dry-run --json`)
  }
}
