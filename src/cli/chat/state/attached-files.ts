import { statSync } from 'node:fs'
import type { MediaBlock } from '../../../core/block.ts'
import type { NewMessage } from '../../../core/message.ts'
import { type PathBase, resolvePath } from '../../attach/attach-file.ts'
import { attachedText, untakenText } from '../../attach/attached-text.ts'
import { mentionOf, readMentionedFiles } from '../../attach/file-mentions.ts'
import { messageWith } from '../../attach/message-with.ts'
import type { Chat } from './chat-state.ts'

/** Attaches files to the next message. A file of the same name is replaced. */
export function attach(chat: Chat, files: readonly MediaBlock[]): void {
  chat.attached = joined(chat.attached, files)
}

/** The next message: the words, the attached files, and those that `typed` mentions after `@`. Throws
 *  UsageError if one of them cannot be sent. */
export async function messageWithFiles(
  chat: Chat,
  words: string | NewMessage,
  typed: string,
): Promise<string | NewMessage> {
  if (typeof words !== 'string') return words
  const mentioned = await readMentionedFiles(typed, chat.context)
  for (const note of mentioned.notes) chat.note(note)
  const files = joined(chat.attached, mentioned.files)
  if (files.length === 0) return words
  sayAttached(chat, files)
  return messageWith(words, files)
}

/** `  with notes.txt (3 kB), shot.png (image, 12 kB)`, and a note if the model does not take one of them. */
function sayAttached({ controller, context: { err }, say, note }: Chat, files: readonly MediaBlock[]): void {
  say(err.style.faint(`  with ${err.style.safe(files.map(attachedText).join(', '))}`))
  const untaken = controller.host ? null : untakenText(files, controller.model)
  if (untaken !== null) note(untaken)
}

/** A pasted path of a picture becomes a mention: terminals paste the path of a file that is dropped on
 *  them. */
export function pastedPicture(text: string, base: PathBase): string {
  const path = text
    .trim()
    .replace(/^(['"])(.*)\1$/, '$2')
    .replace(/^file:\/\//, '')
    .replaceAll('\\ ', ' ')
  if (!/^[~/].*\.(png|jpe?g|gif|webp|heic)$/i.test(path) || path.includes('\n')) return text
  const found = statSync(resolvePath(path, base), { throwIfNoEntry: false })
  return found?.isFile() ? `${mentionOf(path)} ` : text
}

function joined(before: readonly MediaBlock[], added: readonly MediaBlock[]): readonly MediaBlock[] {
  return [...before.filter(({ name }) => !added.some(one => one.name === name)), ...added]
}
