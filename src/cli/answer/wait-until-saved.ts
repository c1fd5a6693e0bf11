import { allSaved, unsavedIn } from '../../recorder/waiting-turns.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { keepUnsaved } from './keep-unsaved.ts'
import { createSavingNotes, type SavingNotes } from './saving-notes.ts'

/** How long a command without a terminal waits for the store: no user can press Ctrl+C there. */
const withoutTerminalMs = 60_000
/** How long a command waits after SIGTERM. */
const whenEndedMs = 3_000

/** Waits until the messages of ended turns are stored: on a terminal until Ctrl+C, elsewhere for a minute.
 *  Prints what it waits for, and what could not be stored. Returns whether everything is stored. */
export async function waitUntilSaved(
  store: object | null,
  context: CommandContext,
  saving: SavingNotes = createSavingNotes(store, context),
): Promise<boolean> {
  if (store === null) return true
  const { err, quiet, json } = context
  const say = (text: string | null) => {
    if (text !== null && !quiet && !json) err.line(noteLine(text, err))
  }
  const before = unsavedIn(store)
  const { messages } = before
  if (before.reason === null) {
    say(saving.done())
    return true
  }
  using stop = stopOnInterrupt(context)
  const signal = context.signal.aborted
    ? AbortSignal.timeout(whenEndedMs)
    : err.isTerminal
      ? stop.signal
      : AbortSignal.any([stop.signal, AbortSignal.timeout(withoutTerminalMs)])
  const stops = err.isTerminal ? '. Ctrl+C stops waiting' : ''
  const what = messages.length > 0 ? plural(messages.length, 'message') : 'the end of the turn'
  say(saving.waiting())
  say(`waiting for the store to save ${what}${stops}`)
  const isSaved = await allSaved(store, signal).catch(() => false)
  if (isSaved) {
    say(saving.done())
    return true
  }
  // Messages that can never be stored are no longer queued: then all of them are meant.
  const queued = unsavedIn(store)
  const lost = queued.messages.length > 0 ? queued : before
  if (lost.messages.length > 0) await keepUnsaved(lost, context)
  return false
}
