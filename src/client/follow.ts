import type { ActivityJson, FollowEventJson, TaskEventJson } from '../api/follow-event.ts'
import { readEvents } from './read-events.ts'
import { type Send, ServiceError } from './send.ts'

/** What to follow, and from where. */
export interface FollowRequest {
  /** Conversations whose contents are sent, at most 20. Default: none, only activity. */
  readonly conversations?: readonly string[]
  /** Also sends changes of all tasks. Default: false. */
  readonly tasks?: boolean
  /** The id of the last event that was handled, also from an earlier process. Default: from now on. */
  readonly after?: string
  /** Ends the iteration without an error. */
  readonly signal?: AbortSignal
}

/** An event of a stream. */
export interface FollowedJson {
  /** Pass it as `after` to continue behind this event. */
  readonly id: string
  /** Activity of the tenant, a change of one of its tasks, or a change of a followed conversation. */
  readonly event: ActivityJson | TaskEventJson | FollowEventJson
}

/** Without a byte for so long, the connection counts as broken: a heartbeat comes every 15 seconds. */
const silentMs = 45_000

/** How long to wait before the next attempt: the first time, and at most. */
const pauseMs = { first: 500, longest: 30_000 }

/** Follows, and reconnects when the connection ends. Every message comes once, in order. Throws ServiceError
 *  if the service refuses the request. */
export async function* followEvents(
  send: Send,
  { conversations = [], tasks = false, after, signal }: FollowRequest,
): AsyncGenerator<FollowedJson, void, void> {
  let last = after
  let pause = pauseMs.first
  while (!signal?.aborted) {
    const cut = new AbortController()
    const both = signal ? AbortSignal.any([signal, cut.signal]) : cut.signal
    let silence = setTimeout(() => cut.abort(), silentMs)
    const touch = () => {
      clearTimeout(silence)
      silence = setTimeout(() => cut.abort(), silentMs)
    }
    try {
      const headers = { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }) }
      const { body } = await send('/follow', {
        query: { conversation: conversations, ...(tasks && { tasks: 'true' }) },
        headers,
        signal: both,
      })
      for await (const { id, event, data } of readEvents(body!.pipeThrough(watched(touch)))) {
        pause = pauseMs.first
        // The service shuts down, or the stream is too old: the next connection continues behind the last
        // event.
        if (event === 'closing') break
        last = id
        yield { id, event: JSON.parse(data) as FollowedJson['event'] }
        if (signal?.aborted) return
      }
    } catch (error) {
      if (signal?.aborted) return
      if (error instanceof ServiceError && isRefused(error)) throw error
    } finally {
      clearTimeout(silence)
      cut.abort()
    }
    await waitFor(pause * (0.5 + Math.random() / 2), signal)
    pause = Math.min(pause * 2, pauseMs.longest)
  }
}

/** Passes bytes on and calls `touch` for each piece. */
function watched(touch: () => void): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      touch()
      controller.enqueue(chunk)
    },
  })
}

/** Whether another attempt would be refused too. */
function isRefused({ status }: ServiceError): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 429 && status !== 408
}

function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
  })
}
