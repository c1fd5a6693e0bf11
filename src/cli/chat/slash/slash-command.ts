import { createSpinner } from '../../output/spinner.ts'
import type { Candidate } from '../input/complete-line.ts'
import type { ChatPosition, ChatStore } from '../state/chat-controller.ts'
import type { Chat, NextStep } from '../state/chat-state.ts'

/** A command of a chat. */
export interface SlashCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  /** The argument as the help shows it: `[name]`. */
  readonly argument?: string
  readonly help: string
  /** `nothing` if it also works in an empty conversation and without a store. */
  readonly needs?: 'nothing'
  /** Set if it concerns our own model, or only an agent of another program. It does not exist where the other
   *  one answers. */
  readonly of?: 'our model' | 'other agent'
  run(chat: Chat, argument: string): Promise<NextStep>
  /** The candidates for its argument, after the words before it. */
  complete?(chat: Chat, given: readonly string[]): Promise<readonly (string | Candidate)[]>
  /** True if its argument is a path, with spaces and without quotes. Default: false. */
  readonly takesPath?: true
}

/** The position of the chat, for commands that need one: `runSlash` has checked that it exists. */
export async function currentPosition({
  controller,
}: Chat): Promise<ChatPosition & { readonly store: ChatStore }> {
  const position = await controller.position()
  return { ...position!, store: controller.store! }
}

/** Runs long work with a spinner until it is done or Ctrl+C or Escape aborts it. Returns null if aborted,
 *  after a note. */
export async function untilStopped<T>(
  chat: Chat,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const { context, keyboard } = chat
  const stop = new AbortController()
  const waiting = createSpinner(context)
  const stopListening = keyboard?.onInterrupt(() => stop.abort(new DOMException('interrupted', 'AbortError')))
  waiting.start(what)
  try {
    return await work(AbortSignal.any([context.signal, stop.signal]))
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
