import { waitingLine } from '../../output/waiting-line.ts'
import type { Chat } from '../state/chat-state.ts'

/** Does something that takes a while, until it is done or Ctrl+C stops it: then null, and the person is told. */
export async function untilStopped<T>(
  chat: Chat,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const { world, keyboard } = chat
  const stop = new AbortController()
  const waiting = waitingLine(world)
  const stopListening = keyboard?.onInterrupt(() => stop.abort(new DOMException('interrupted', 'AbortError')))
  waiting.start(what)
  try {
    return await work(AbortSignal.any([world.signal, stop.signal]))
  } catch (error) {
    if (!stop.signal.aborted) throw error
    waiting.stop()
    chat.note('stopped: nothing was changed')
    return null
  } finally {
    waiting.stop()
    stopListening?.()
  }
}
