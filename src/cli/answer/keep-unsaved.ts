import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { errorText } from '../../core/error-text.ts'
import { type NewMessage, textOf } from '../../core/message.ts'
import type { Unsaved } from '../../recorder/waiting-turns.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { cut } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { dataFolder } from '../store/store-location.ts'
import { writeNewFile } from '../transfer/new-file.ts'

/** Says which messages are not in the store, and keeps them in a file that `skein import` reads: on a
 *  terminal after a question, elsewhere at once. Printed even with --quiet, because these messages exist
 *  nowhere else. */
export async function keepUnsaved(unsaved: Unsaved, context: CommandContext): Promise<void> {
  const { messages } = unsaved
  const { err, canAsk, json, signal } = context
  const note = (text: string) => err.line(noteLine(text, err))
  const asks = canAsk && !json && !signal.aborted
  note(`${plural(messages.length, 'message')} could not be saved:`)
  for (const message of messages) err.line(gistLine(message, context))
  const stamp = new Date(context.now()).toISOString().replace(/[:.]/g, '-')
  const folder = asks ? context.cwd : dataFolder(context.env)
  const file = join(folder, `skein-unsaved-${stamp}.jsonl`)
  if (asks && !(await isWanted(context))) return note('not kept: copy what you need')
  try {
    mkdirSync(folder, { recursive: true })
    const { unsavedText } = await import('./unsaved-records.ts')
    const { text, joins } = await unsavedText(unsaved, context)
    writeNewFile(file, text, false)
    const how = joins ? 'To add them to their conversation' : 'To store them as a conversation of their own'
    const [where, name] = asks ? ['this folder', basename(file)] : ['a file', file]
    note(`kept in ${where}. ${how}: ${skeinCommand(context)} import ${name}`)
  } catch (error) {
    note(`could not be written to ${file}: ${errorText(error)}. Copy what you need`)
  }
}

/** Ctrl+C means no. */
function isWanted(context: CommandContext): Promise<boolean> {
  return confirm('write them to a file, to import later?', context).catch(() => false)
}

function gistLine(message: NewMessage, { err: { style, width } }: CommandContext): string {
  const mark = message.role === 'user' ? style.symbols.prompt : ' '
  const text = collapseSpaces(style.safe(textOf(message))) || `(${message.role})`
  return style.faint(`  ${mark} ${cut(text, Math.max(12, width - 4), style.symbols.dots)}`)
}
