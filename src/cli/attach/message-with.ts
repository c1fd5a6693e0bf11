import { isKnown, isMedia, type MediaBlock } from '../../core/block.ts'
import type { NewMessage } from '../../core/message.ts'

/** A message of the user with these words and files. */
export function messageWith(text: string, files: readonly MediaBlock[]): NewMessage {
  if (files.length === 0) return { role: 'user', content: text }
  return { role: 'user', content: text === '' ? files : [{ type: 'text', text }, ...files] }
}

/** The files of a message. */
export function filesIn({ content }: Pick<NewMessage, 'content'>): readonly MediaBlock[] {
  return typeof content === 'string' ? [] : content.filter(block => isKnown(block) && isMedia(block))
}
