import type { ConversationId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Engine } from '../engine/engine.ts'
import {
  type FollowSnapshot,
  type PolledActivity,
  pollActivity,
  pollVersions,
  readListed,
} from '../programs/follow.ts'
import { type TaskWatch, taskWatch } from './task-watch.ts'

/** How often versions are read: while an answer streams, otherwise, and after a failure. */
const pollMs = { streaming: 100, quiet: 250, failed: 1_000 }

/** Between two polls that own writes ask for. */
const leastGapMs = 5

/** Clocks and commits may be out of order by so much: a poll of activity looks back this far. */
export const activityOverlapMs = 60_000

/** Conversations whose activity is kept for iterations that have not delivered it yet. */
const mostActive = 5_000

/** Reads of one state that are kept for other iterations. */
const mostShared = 4

/** Why a wait has ended: something may have changed, or the iteration has to end. */
export type WaitResult = 'changed' | 'ended'

/** A conversation that at least one iteration follows. */
export interface ConversationWatch {
  /** Waits until the version differs from this one. */
  changed(version: number, signal: AbortSignal | undefined): Promise<WaitResult>
  /** An iteration has read this version. */
  note(version: number): void
  /** Runs `read` once for all iterations that ask with the same key while the version stays the same. */
  share(key: string, read: () => Promise<FollowSnapshot | null>): Promise<FollowSnapshot | null>
  close(): void
}

/** A conversation with activity, numbered in the order in which this process found it. */
export interface FoundActivity {
  readonly order: number
  readonly conversation: ListedConversation
}

/** The activity of the tenant, while at least one iteration follows it. */
export interface ActivityWatch {
  /** Waits until the first poll has run. */
  ready(signal: AbortSignal | undefined): Promise<WaitResult>
  /** The number of the newest activity. */
  newest(): number
  /** Activity after a number, in order; null if some of it is not kept any more. */
  after(order: number): readonly FoundActivity[] | null
  /** Waits until there is activity after a number. */
  changed(order: number, signal: AbortSignal | undefined): Promise<WaitResult>
  close(): void
}

/** The tasks of the tenant, while at least one iteration follows them. */
export interface FollowedTasks extends Pick<TaskWatch, 'newest' | 'after'> {
  /** Waits until the first poll has run. */
  ready(signal: AbortSignal | undefined): Promise<WaitResult>
  /** Waits until there is a change after a number. */
  changed(order: number, signal: AbortSignal | undefined): Promise<WaitResult>
  close(): void
}

/** Finds changes for all iterations of a store: one poller, however many there are. It runs only while an
 *  iteration follows, and keeps no process alive. */
export interface FollowHub {
  /** This process has committed a write. Costs next to nothing without followers. */
  wake(): void
  watch(id: ConversationId): ConversationWatch
  watchActivity(): ActivityWatch
  watchTasks(): FollowedTasks
  /** Ends all iterations. */
  close(): void
  isClosed(): boolean
}

interface Followed {
  count: number
  /** Null if the conversation is gone, undefined before the first poll. */
  version: number | null | undefined
  isStreaming: boolean
  readonly shared: Map<string, Promise<FollowSnapshot | null>>
  readonly waiters: Set<() => void>
}

export function followHub(engine: Pick<Engine, 'query' | 'source'>): FollowHub {
  const followed = new Map<ConversationId, Followed>()
  const activity = { count: 0, isReady: false, newest: 0, droppedUpTo: 0, since: 0 }
  const marks = new Map<ConversationId, PolledActivity>()
  const found = new Map<ConversationId, FoundActivity>()
  const activityWaiters = new Set<() => void>()
  const tasks = taskWatch(engine)
  const taskWaiters = new Set<() => void>()
  let taskFollowers = 0
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let polledAt = Number.NEGATIVE_INFINITY
  let isPolling = false
  let isWoken = false
  let isClosed = false
  return { wake, watch, watchActivity, watchTasks, close, isClosed: () => isClosed }

  function wake(): void {
    if (!hasFollowers()) return
    if (isPolling) isWoken = true
    else schedule(Math.max(0, polledAt + leastGapMs - performance.now()))
  }

  function hasFollowers(): boolean {
    return !isClosed && (followed.size > 0 || activity.count > 0 || taskFollowers > 0)
  }

  /** Polls in so many milliseconds, or earlier if that is planned already. */
  function schedule(ms: number): void {
    const due = performance.now() + ms
    if (isPolling || due >= dueAt) return
    clearTimeout(timer)
    dueAt = due
    timer = setTimeout(() => void poll(), ms)
    timer.unref()
  }

  async function poll(): Promise<void> {
    dueAt = Number.POSITIVE_INFINITY
    if (!hasFollowers()) return
    isPolling = true
    isWoken = false
    let next = pollMs.quiet
    try {
      if (followed.size > 0) await pollConversations()
      if (activity.count > 0 && !isClosed) await pollAllActivity()
      if (taskFollowers > 0 && !isClosed) {
        await tasks.poll()
        callAll(taskWaiters)
      }
      if ([...followed.values()].some(one => one.isStreaming)) next = pollMs.streaming
    } catch {
      // The store is away: iterations wait, and a read of their own reports the reason if it lasts.
      next = pollMs.failed
    }
    isPolling = false
    polledAt = performance.now()
    if (hasFollowers()) schedule(isWoken ? leastGapMs : next)
  }

  async function pollConversations(): Promise<void> {
    const ids = [...followed.keys()]
    const polled = await engine.query(() => pollVersions(ids, engine.source.now()))
    const byId = new Map(polled.map(one => [one.id, one]))
    for (const id of ids) {
      const one = followed.get(id)
      if (!one) continue
      one.isStreaming = byId.get(id)?.isStreaming ?? false
      setVersion(one, byId.get(id)?.version ?? null)
    }
  }

  function setVersion(one: Followed, version: number | null): void {
    if (one.version === version) return
    one.version = version
    one.shared.clear()
    callAll(one.waiters)
  }

  function watch(id: ConversationId): ConversationWatch {
    const fresh: Followed = {
      count: 0,
      version: undefined,
      isStreaming: false,
      shared: new Map(),
      waiters: new Set(),
    }
    const one = followed.get(id) ?? fresh
    followed.set(id, one)
    one.count++
    schedule(pollMs.quiet)
    return {
      changed: (version, signal) =>
        waitUntil(one.waiters, () => one.version !== undefined && one.version !== version, signal),
      note(version) {
        // A poll that began earlier may report an older version: it only causes a read in vain.
        if (one.version === undefined || (one.version !== null && version > one.version))
          setVersion(one, version)
      },
      share(key, read) {
        const known = one.shared.get(key)
        if (known) return known
        const reading = read()
        if (one.count > 1) {
          if (one.shared.size >= mostShared) one.shared.delete(one.shared.keys().next().value!)
          one.shared.set(key, reading)
          // A failure must not be kept.
          reading.catch(() => one.shared.delete(key))
        }
        return reading
      },
      close() {
        if (--one.count === 0) followed.delete(id)
        if (!hasFollowers()) stop()
      },
    }
  }

  async function pollAllActivity(): Promise<void> {
    if (!activity.isReady) activity.since = engine.source.now() - activityOverlapMs
    const { since } = activity
    const polled = await engine.query(() => pollActivity(since))
    const changed = polled.filter(one => marks.get(one.id)?.mark !== one.mark)
    if (activity.isReady && changed.length > 0) {
      const listed = await engine.query(() => readListed(changed.map(one => one.id)))
      for (const conversation of listed) {
        found.delete(conversation.id)
        found.set(conversation.id, { order: ++activity.newest, conversation })
      }
    }
    for (const one of changed) marks.set(one.id, one)
    activity.since = Math.max(since, (polled[0]?.time ?? 0) - activityOverlapMs)
    for (const [id, { time }] of marks) if (time < activity.since) marks.delete(id)
    for (const [id, { order }] of found) {
      if (found.size <= mostActive) break
      found.delete(id)
      activity.droppedUpTo = order
    }
    activity.isReady = true
    callAll(activityWaiters)
  }

  function watchActivity(): ActivityWatch {
    activity.count++
    schedule(0)
    return {
      ready: signal => waitUntil(activityWaiters, () => activity.isReady, signal),
      newest: () => activity.newest,
      after(order) {
        if (order < activity.droppedUpTo) return null
        // In order: a conversation with new activity is moved to the end.
        return [...found.values()].filter(one => one.order > order)
      },
      changed: (order, signal) => waitUntil(activityWaiters, () => activity.newest > order, signal),
      close() {
        if (--activity.count === 0) {
          activity.isReady = false
          marks.clear()
          found.clear()
        }
        if (!hasFollowers()) stop()
      },
    }
  }

  function watchTasks(): FollowedTasks {
    taskFollowers++
    schedule(0)
    return {
      ready: signal => waitUntil(taskWaiters, tasks.isReady, signal),
      newest: tasks.newest,
      after: tasks.after,
      changed: (order, signal) => waitUntil(taskWaiters, () => tasks.newest() > order, signal),
      close() {
        if (--taskFollowers === 0) tasks.reset()
        if (!hasFollowers()) stop()
      },
    }
  }

  function waitUntil(
    waiters: Set<() => void>,
    isChanged: () => boolean,
    signal: AbortSignal | undefined,
  ): Promise<WaitResult> {
    return new Promise(resolve => {
      const look = () => {
        const result = isClosed || signal?.aborted ? 'ended' : isChanged() ? 'changed' : null
        if (result === null) return
        waiters.delete(look)
        signal?.removeEventListener('abort', look)
        resolve(result)
      }
      waiters.add(look)
      signal?.addEventListener('abort', look, { once: true })
      look()
    })
  }

  function stop(): void {
    clearTimeout(timer)
    dueAt = Number.POSITIVE_INFINITY
  }

  function close(): void {
    isClosed = true
    stop()
    for (const one of followed.values()) callAll(one.waiters)
    callAll(activityWaiters)
    callAll(taskWaiters)
  }
}

function callAll(waiters: ReadonlySet<() => void>): void {
  for (const look of [...waiters]) look()
}
