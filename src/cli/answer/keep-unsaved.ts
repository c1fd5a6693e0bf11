import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { errorText } from '../../core/error-text.ts'
import { type NewMessage, textOf } from '../../core/message.ts'
import type { Unsaved } from '../../recorder/waiting-turns.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { collapseSpaces, cut } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
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
    const { text, joins } = await unsavedText(unsaved, context)
    writeNewFile(file, text, false)
    const how = joins ? 'To add them to their conversation' : 'To store them as a conversation of their own'
    const [where, name] = asks ? ['this folder', basename(file)] : ['a file', file]
    note(`kept in ${where}. ${how}: skein import ${name}`)
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

/** The messages in the native format: records that continue their conversations, or, if those cannot be read,
 *  a conversation of their own. */
async function unsavedText(
  unsaved: Unsaved,
  context: CommandContext,
): Promise<{ readonly text: string; readonly joins: boolean }> {
  const { unsavedRecords } = await import('./unsaved-records.ts')
  const { nativeEncoder } = await import('../../formats/native/encode.ts')
  const at = context.now()
  const encoder = nativeEncoder()
  const { records, joins } = await unsavedRecords(unsaved, context)
  const lines = [encoder.header(at, 'skein'), ...records.flatMap(record => [...encoder.record(record)])]
  return { text: [...lines, encoder.end(), ''].join('\n'), joins }
}
