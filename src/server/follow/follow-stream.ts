import {
  activityJson,
  type ClosingEventJson,
  followEventJson,
  taskEventJson,
} from '../../api/follow-event.ts'
import type { IsLive } from '../../api/path-facts.ts'
import type { ActivityEvent, FollowEvent, Follower, TaskEvent } from '../../core/follow.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { CutOff } from '../http/stream.ts'
import { eventText } from '../turns/event-stream.ts'
import { type StreamPosition, writeEventId } from './event-id.ts'
import { createEventQueue } from './event-queue.ts'

/** What a stream reads. */
export type FollowedStore = Follower & Pick<MessageReader, 'getMessages'>

/** Which conversations a stream has, and where it begins. */
export interface FollowStreamOptions {
  /** The conversations whose contents are sent. */
  readonly conversations: readonly ConversationId[]
  /** Whether changes of tasks are sent. They cost a stream about 6 kB. */
  readonly withTasks: boolean
  /** The id of the last event that the client has. Null: from now on. */
  readonly position: StreamPosition | null
  /** The client has left. */
  readonly signal: AbortSignal
  /** The service shuts down. The last event says so, and the client reconnects elsewhere. */
  readonly shutdown: AbortSignal
  /** Milliseconds after which the stream ends, and the client reconnects. */
  readonly longestMs: number
  /** Whether an open turn is being answered. */
  readonly isLive: IsLive
  /** Called if the stream fails. */
  readonly cutOff: CutOff
  /** Called once, when the stream has ended. */
  onEnd(): void
  /** Milliseconds between two heartbeats, and after which a reader that takes nothing is disconnected.
   *  Defaults: 15,000 and 30,000. */
  readonly times?: { readonly heartbeatMs?: number; readonly stalledMs?: number }
}

/** How long a client waits before it reconnects. */
const retryMs = 1_000

/** Sends activity of the tenant, changes of its tasks if wanted, and the contents of conversations, as
 *  server-sent events. The past is read from the store as fast as the reader takes it; a reader that is too
 *  slow for what happens now is disconnected, and resumes with the id of its last event. Throws NotFoundError
 *  if a conversation without a cursor does not exist. */
export async function followStream(
  store: FollowedStore,
  options: FollowStreamOptions,
): Promise<ReadableStream<Uint8Array>> {
  const { conversations, position, isLive, shutdown } = options
  const { heartbeatMs = 15_000, stalledMs = 30_000 } = options.times ?? {}
  const stop = new AbortController()
  const signal = AbortSignal.any([options.signal, stop.signal])
  const wanted = new Map<ConversationId, string>()
  for (const id of conversations) {
    const cursor = position?.cursors.get(id)
    if (cursor !== undefined) wanted.set(id, cursor)
  }
  const begin = position?.activity ?? new Date()
  let at: StreamPosition & { readonly cursors: Map<ConversationId, string> } = {
    activity: begin,
    tasks: position?.tasks ?? null,
    cursors: wanted,
  }

  // A conversation without a cursor gets one before anything is sent: otherwise the id of an earlier event
  // would not hold its place, and a client that resumes with that id would miss its events.
  const firsts: string[] = []
  let opened: OpenedEvents | undefined
  try {
    opened = openEvents(store, { begin, signal, conversations, position })
    for (const [id, events] of opened.contents) {
      if (wanted.has(id)) continue
      const { value } = await events.next()
      if (value) firsts.push(textOf(id, value))
    }
  } catch (error) {
    release()
    throw error
  }

  const queue = createEventQueue({
    first: `retry: ${retryMs}\n\n${firsts.join('')}`,
    stalledMs,
    cutOff: options.cutOff,
    onEnd,
  })
  const heartbeat = setInterval(() => queue.beat(), heartbeatMs).unref()
  const timeout = setTimeout(() => closeFor('timeout'), options.longestMs).unref()
  const untilEnd = { once: true, signal: stop.signal } as const
  options.signal.addEventListener('abort', () => queue.close(), untilEnd)
  shutdown.addEventListener('abort', () => closeFor('shutdown'), untilEnd)
  if (shutdown.aborted) closeFor('shutdown')
  else if (signal.aborted) queue.close()
  else {
    for (const [id, events] of opened.contents) void pump(events, async event => () => textOf(id, event))
    void pump(opened.activity, textForActivity)
    if (options.withTasks) void pump(opened.tasks, async event => () => textForTask(event))
  }
  return queue.body

  /** Sends events as the queue takes them. The text is made at the moment at which it is queued: its id holds
   *  the places of all events before it, and of none after it. */
  async function pump<E extends { readonly isReplay: boolean }>(
    events: AsyncIterator<E>,
    textFor: (event: E) => Promise<() => string>,
  ) {
    try {
      for (let next = await events.next(); !next.done; next = await events.next()) {
        const text = await textFor(next.value)
        if (!(await queue.room(next.value.isReplay))) return
        queue.send(text())
      }
    } catch (error) {
      queue.cut(error)
    }
  }

  /** Ends the stream with an event without an id: the client resumes behind the event before it. */
  function closeFor(reason: ClosingEventJson['reason']): void {
    queue.close(eventText<ClosingEventJson>({ type: 'closing', reason }))
  }

  function onEnd(): void {
    clearInterval(heartbeat)
    clearTimeout(timeout)
    release()
  }

  /** Ends all iterations, also those whose last event was not sent: otherwise the store would poll for them
   *  for ever. */
  function release(): void {
    stop.abort()
    if (opened)
      for (const events of [...opened.contents.values(), opened.activity, opened.tasks])
        events.return?.().catch(() => undefined)
    options.onEnd()
  }

  function textOf(id: ConversationId, event: FollowEvent): string {
    const { cursor, isReplay: _, ...change } = event
    at = { ...at, cursors: at.cursors.set(id, cursor) }
    return `id: ${writeEventId(at)}\n${eventText(followEventJson(id, change, isLive))}`
  }

  function textForTask(event: TaskEvent): string {
    at = { ...at, tasks: event.cursor }
    return `id: ${writeEventId(at)}\n${eventText(taskEventJson(event))}`
  }

  async function textForActivity(event: ActivityEvent): Promise<() => string> {
    const { head } = event.conversation.branch
    const last = head === null ? null : await lastMessages(store).read(head)
    const text = activityTexts.get(event.conversation) ?? eventText(activityJson(event, last))
    activityTexts.set(event.conversation, text)
    return () => {
      at = { ...at, activity: event.cursor }
      return `id: ${writeEventId(at)}\n${text}`
    }
  }
}

/** The events that a stream sends, before the first one is read. */
interface OpenedEvents {
  readonly contents: ReadonlyMap<ConversationId, AsyncIterator<FollowEvent>>
  readonly activity: AsyncIterator<ActivityEvent>
  readonly tasks: AsyncIterator<TaskEvent>
}

/** Opens everything at a position. Throws InvalidError if a cursor is wrong, also that of a conversation that
 *  the stream has no more: the id as a whole is not one of ours. */
function openEvents(
  store: FollowedStore,
  {
    begin,
    signal,
    conversations,
    position,
  }: Pick<FollowStreamOptions, 'signal' | 'conversations' | 'position'> & { readonly begin: string | Date },
): OpenedEvents {
  const open = (id: ConversationId) => {
    const after = position?.cursors.get(id)
    const how = { blobs: 'preview', signal, ...(after !== undefined && { after }) } as const
    return store.follow(id, how)[Symbol.asyncIterator]()
  }
  for (const id of position?.cursors.keys() ?? []) open(id)
  const start = typeof begin === 'string' ? { after: begin } : { since: begin }
  // Without a task yet, changes since the time of the first activity are read: their cursors are times too.
  const tasks = position?.tasks ?? null
  return {
    contents: new Map(conversations.map(id => [id, open(id)])),
    activity: store.followActivity({ signal, ...start })[Symbol.asyncIterator](),
    tasks: store
      .followTasks({ signal, ...(tasks === null ? start : { after: tasks }) })
      [Symbol.asyncIterator](),
  }
}

/** Every stream of a tenant sends the same activity, and the store gives all of them one value: its text is
 *  made once. */
const activityTexts = new WeakMap<ActivityEvent['conversation'], string>()

/** Heads that were read for one stream, for the others of the same store. */
interface LastMessages {
  read(id: MessageId): Promise<Message | null>
}

/** Most heads that are kept. */
const mostHeads = 100

const heads = new WeakMap<FollowedStore, LastMessages>()

function lastMessages(store: FollowedStore): LastMessages {
  const known = heads.get(store)
  if (known) return known
  const kept = new Map<MessageId, Promise<Message | null>>()
  const made: LastMessages = {
    read(id) {
      const found = kept.get(id)
      if (found) return found
      // The message may be damaged, or deleted since.
      const reading = store.getMessages([id], { blobs: 'preview' }).then(
        ([message]) => message ?? null,
        () => null,
      )
      if (kept.size >= mostHeads) kept.delete(kept.keys().next().value!)
      kept.set(id, reading)
      return reading
    },
  }
  heads.set(store, made)
  return made
}
