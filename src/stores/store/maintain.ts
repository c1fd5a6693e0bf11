import type { ConversationId } from '../../core/ids.ts'
import type { PurgedConversation, Remnant, SweepOptions, SweepReceipt } from '../../core/removal.ts'
import type { Engine } from '../engine/engine.ts'
import * as sweep from '../programs/sweep.ts'
import { dropLoosePrompts, purgeSome } from '../programs/trash.ts'

/** Operations of several short transactions, so that other writers need not wait long. */

/** Removes a trashed conversation permanently, and its traces. */
export async function purgeOne(engine: Engine, id: ConversationId): Promise<PurgedConversation> {
  const done = await purgeRows(engine, id)
  return { ...done, remains: done.purged ? await removePurged(engine) : [] }
}

async function purgeRows(engine: Engine, id: ConversationId): Promise<Omit<PurgedConversation, 'remains'>> {
  for (let [purged, messages] = [false, 0]; ; purged = true) {
    const done = await engine.write(() => purgeSome(id), 'removing')
    messages += done.messages
    if (done.state === 'missing') return { purged, messages }
    if (done.state === 'gone') return { purged: true, messages }
  }
}

/** Removes the prompts and the traces of purged conversations. */
async function removePurged(engine: Engine): Promise<readonly Remnant[]> {
  await engine.write(dropLoosePrompts, 'removing')
  return engine.removeTraces()
}

export async function sweepAll(
  engine: Engine,
  { dryRun = false, trustClock = false }: SweepOptions,
): Promise<SweepReceipt> {
  const now = engine.source.now()
  const nothing = { dryRun, trashed: [], purged: [], clockJumped: null, remains: [] }
  const last = trustClock ? null : await engine.query(() => sweep.clockJump(now))
  if (last !== null) {
    if (!dryRun) await engine.write(() => sweep.noteSweep(now))
    return { ...nothing, clockJumped: { from: new Date(last), to: new Date(now) } }
  }
  if (dryRun) {
    return engine.read(function* () {
      const trashed = yield* sweep.listExpired(now)
      const purged = yield* sweep.listPurgeable(now, 10_000, 1)
      return { ...nothing, trashed, purged }
    })
  }
  await engine.write(() => sweep.beginSweep(now))
  const purged: ConversationId[] = []
  for (const id of await engine.query(() => sweep.listPurgeable(now, 10_000))) {
    if ((await purgeRows(engine, id)).purged) purged.push(id)
  }
  const trashed: ConversationId[] = []
  for (let more = true; more; ) {
    const batch = await engine.write(() => sweep.trashExpired(now))
    trashed.push(...batch)
    more = batch.length === sweep.sweepBatch
  }
  return { ...nothing, trashed, purged, remains: purged.length > 0 ? await removePurged(engine) : [] }
}
