import type { ActivityEvent } from '../../core/follow.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Engine } from '../engine/engine.ts'
import { writeCursor } from '../programs/cursor.ts'
import { readListedFrom } from '../programs/follow.ts'
import { activityOverlapMs, type FollowHub } from './follow-hub.ts'

/** Conversations that are read at once after a reconnect. */
const pageSize = 100

/** Below every id. */
const lowestId = '00000000-0000-0000-0000-000000000000'

/** Activity in all conversations of the tenant. After a reconnect, or if the consumer is too slow, it is read
 *  from the store; otherwise all iterations share what the hub has found. */
export async function* followActivity(
  engine: Pick<Engine, 'query'>,
  hub: FollowHub,
  since: number | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<ActivityEvent, void, void> {
  let time = since
  // Fails if the store is closed or away.
  await engine.query(() => readListedFrom({ time: Number.MAX_SAFE_INTEGER, id: lowestId }, 1))
  const watch = hub.watchActivity()
  try {
    if ((await watch.ready(signal)) === 'ended') return
    let order = watch.newest()
    if (time !== null) yield* readMissed()
    for (;;) {
      if ((await watch.changed(order, signal)) === 'ended') return
      const found = watch.after(order)
      order = found?.at(-1)?.order ?? watch.newest()
      if (found === null) {
        time ??= 0
        yield* readMissed()
        continue
      }
      for (const { conversation } of found) {
        yield eventOf(conversation, false)
        if (signal?.aborted) return
      }
    }
  } finally {
    watch.close()
  }

  async function* readMissed(): AsyncGenerator<ActivityEvent, void, void> {
    let from = { time: (time ?? 0) - activityOverlapMs, id: lowestId }
    for (let isLast = false; !isLast; ) {
      const start = from
      const page = await engine.query(() => readListedFrom(start, pageSize))
      for (const conversation of page) {
        if (signal?.aborted || hub.isClosed()) return
        yield eventOf(conversation, true)
      }
      const last = page.at(-1)
      if (last) from = { time: last.updatedAt.getTime(), id: last.id }
      isLast = page.length < pageSize
    }
  }

  function eventOf(conversation: ListedConversation, isReplay: boolean): ActivityEvent {
    time = Math.max(time ?? 0, conversation.updatedAt.getTime())
    return { cursor: writeCursor([time]), isReplay, conversation }
  }
}
