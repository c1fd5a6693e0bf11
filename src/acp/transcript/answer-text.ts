import type { Block } from '../../core/block.ts'

/** The text of an answer while it arrives: chunks of one text are joined in their order. */
export interface AnswerText {
  readonly blocks: readonly Block[]
  add(block: Block, messageId: string | null): void
}

export function createAnswerText(): AnswerText {
  const blocks: Block[] = []
  let lastId: string | null = null
  return {
    blocks,
    add(block, messageId) {
      const last = blocks.at(-1)
      const begins = messageId !== null && lastId !== null && messageId !== lastId
      lastId = messageId ?? lastId
      const whole = last && !begins ? joined(last, block) : null
      if (whole) blocks[blocks.length - 1] = whole
      else blocks.push(block)
    },
  }
}

/** Joins two chunks of the same text or thought; null if they are not. Metadata that differs is dropped: some
 *  agents number their chunks there, and the text must not be split because of it. */
function joined(last: Block, next: Block): Block | null {
  if (last.type !== next.type || (last.type !== 'text' && last.type !== 'thinking')) return null
  const text = blockText(last) + blockText(next)
  const isNotedAlike = JSON.stringify(last.metadata) === JSON.stringify(next.metadata)
  return isNotedAlike ? { ...last, text } : { type: last.type, text }
}

/** The text of a text or thinking block; empty for any other block. */
export function blockText(block: Block): string {
  return 'text' in block && typeof block.text === 'string' ? block.text : ''
}
