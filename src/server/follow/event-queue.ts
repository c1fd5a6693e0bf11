import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CutOff, SlowReaderError } from '../http/stream.ts'

/** Most bytes that wait for a reader. */
export const mostQueued = 1_048_576

/** While so many bytes wait, nothing of the past is read from the store. */
const paceBytes = 65_536

/** The body of a stream of events, between the store and a reader that may be slower (decision 83). */
export interface EventQueue {
  /** What the reader gets. */
  readonly body: ReadableStream<Uint8Array>
  /** Waits until the next event may be queued: one of the past until the reader has taken those before it, a
   *  new one for a turn of the event loop at most. False if the stream has ended. */
  room(isReplay: boolean): Promise<boolean>
  /** Queues a text. If more than 1 MB would wait, the reader is disconnected instead. */
  send(text: string): void
  /** Queues a comment, unless the reader has enough to take. */
  beat(): void
  /** Ends the stream, after a last text. */
  close(last?: string): void
  /** Ends the stream, drops what is queued and cuts the connection. */
  cut(reason: unknown): void
}

/** What a queue is made of. */
export interface EventQueueOptions {
  /** The first text. */
  readonly first: string
  /** Milliseconds after which a reader that takes nothing is disconnected while a replay waits for it. */
  readonly stalledMs: number
  /** Called if the stream fails. */
  readonly cutOff: CutOff
  /** Called once, when the stream has ended. */
  onEnd(): void
}

/** Makes a queue. */
export function createEventQueue({ first, stalledMs, cutOff, onEnd }: EventQueueOptions): EventQueue {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array>
  let taken: PromiseWithResolvers<void> | null = null
  let stalled: NodeJS.Timeout | undefined
  let isEnded = false
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
        controller.enqueue(encoder.encode(first))
      },
      pull: onTaken,
      cancel: () => close(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: paceBytes }),
  )
  return { body, room, send, beat, close, cut }

  async function room(isReplay: boolean): Promise<boolean> {
    if (isEnded) return false
    const isFull = () => controller.desiredSize! <= 0
    // The socket of a quick reader takes what it has, before a burst counts as a backlog.
    if (!isReplay && isFull()) await nextTurn()
    while (isReplay && !isEnded && isFull()) {
      taken ??= Promise.withResolvers()
      stalled ??= setTimeout(() => cut(new SlowReaderError('it took nothing')), stalledMs).unref()
      await taken.promise
    }
    return !isEnded
  }

  /** The reader has taken enough that there is room. */
  function onTaken(): void {
    clearTimeout(stalled)
    stalled = undefined
    taken?.resolve()
    taken = null
  }

  function send(text: string): void {
    if (isEnded) return
    const bytes = encoder.encode(text)
    const queued = paceBytes - controller.desiredSize!
    if (queued > 0 && queued + bytes.length > mostQueued) cut(new SlowReaderError('1 MB waited for it'))
    else controller.enqueue(bytes)
  }

  function beat(): void {
    if (!isEnded && controller.desiredSize! > 0) controller.enqueue(encoder.encode(': still here\n\n'))
  }

  function close(last?: string): void {
    if (isEnded) return
    settle()
    try {
      if (last !== undefined) controller.enqueue(encoder.encode(last))
      controller.close()
    } catch {
      // The reader has cancelled the stream.
    }
    onEnd()
  }

  function cut(reason: unknown): void {
    if (isEnded) return
    settle()
    const shown = cutOff(reason)
    if (shown !== null) controller.error(shown)
    onEnd()
  }

  function settle(): void {
    isEnded = true
    onTaken()
  }
}
