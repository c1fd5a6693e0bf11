import { mkdirSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { errorText } from '../../core/error-text.ts'
import { type NewMessage, textOf } from '../../core/message.ts'
import { allSaved, type Unsaved, unsavedIn } from '../../recorder/waiting-turns.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { cut } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { dataFolder } from '../store/store-location.ts'
import { writeNewFile } from '../transfer/new-file.ts'
import { createSavingNotes, type SavingNotes } from './saving-notes.ts'

/** How long a command without a terminal waits for the store: no user can press Ctrl+C there. */
const withoutTerminalMs = 60_000
/** How long a command waits after SIGTERM, or when its terminal was closed. */
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

/** Says which messages are not in the store, and keeps them in a file that `skein import` reads: on a
 *  terminal after a question, elsewhere at once. Printed even with --quiet, because these messages exist
 *  nowhere else. */
async function keepUnsaved(unsaved: Unsaved, context: CommandContext): Promise<void> {
  const { messages } = unsaved
  const { err, canAsk, json, signal, stdin } = context
  const note = (text: string) => err.line(noteLine(text, err))
  const asks = canAsk && !json && !signal.aborted
  note(`${plural(messages.length, 'message')} could not be saved:`)
  for (const message of messages) err.line(gistLine(message, context))
  const isWanted = asks && (await wantsFile(context))
  // A terminal that was closed at the question has not answered it.
  const hasGone = signal.aborted || stdin.readableEnded || stdin.destroyed
  if (asks && !isWanted && !hasGone) return note('not kept: copy what you need')
  const { unsavedText } = await import('./unsaved-records.ts')
  const { text, joins } = await unsavedText(unsaved, context)
  const file = writeSomewhere(text, foldersFor(context, isWanted), context, note)
  if (file === null) {
    note('they are nowhere else, so here they are. Copy what you need:')
    for (const message of messages) err.line(err.style.safe(textOf(message)))
    return
  }
  const how = joins ? 'To add them to their conversation' : 'To store them as a conversation of their own'
  const isHere = dirname(file) === context.cwd
  const [where, name] = isHere ? ['this folder', basename(file)] : ['a file', file]
  note(`kept in ${where}. ${how}: ${skeinCommand(context)} import ${name}`)
}

/** Where to keep them: where the user is who said yes, or with the data. If that folder is on a full disk,
 *  another one may not be. */
function foldersFor({ cwd, env }: CommandContext, isWanted: boolean): ReadonlySet<string> {
  return new Set([isWanted ? cwd : dataFolder(env), env.HOME ?? homedir(), env.TMPDIR ?? tmpdir()])
}

/** Writes a file into the first of the folders that takes it. Returns null if none does. */
function writeSomewhere(
  text: string,
  folders: ReadonlySet<string>,
  context: CommandContext,
  note: (text: string) => void,
): string | null {
  const stamp = new Date(context.now()).toISOString().replace(/[:.]/g, '-')
  for (const folder of folders) {
    const file = join(folder, `skein-unsaved-${stamp}.jsonl`)
    try {
      mkdirSync(folder, { recursive: true })
      writeNewFile(file, text, false)
      return file
    } catch (error) {
      note(`not written to ${folder}: ${errorText(error)}`)
    }
  }
  return null
}

/** Ctrl+C means no. */
function wantsFile(context: CommandContext): Promise<boolean> {
  return confirm('write them to a file, to import later?', context).catch(() => false)
}

function gistLine(message: NewMessage, { err: { style, width } }: CommandContext): string {
  const mark = message.role === 'user' ? style.symbols.prompt : ' '
  const text = collapseSpaces(style.safe(textOf(message))) || `(${message.role})`
  return style.faint(`  ${mark} ${cut(text, Math.max(12, width - 4), style.symbols.dots)}`)
}
