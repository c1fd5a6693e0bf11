import type { Block } from '../../core/block.ts'

/** The words of an answer as they arrive: pieces of one text are joined, in the order they came. */
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

/** Two pieces of the same text or thought; null if they are not. What is noted of one piece and not of the
 *  other is noted of neither: agents number their pieces there, and a text must not fall apart for it. */
function joined(last: Block, next: Block): Block | null {
  if (last.type !== next.type || (last.type !== 'text' && last.type !== 'thinking')) return null
  const text = blockText(last) + blockText(next)
  const isNotedAlike = JSON.stringify(last.metadata) === JSON.stringify(next.metadata)
  return isNotedAlike ? { ...last, text } : { type: last.type, text }
}

/** The words of a text or a thought; nothing for any other block. */
export function blockText(block: Block): string {
  return 'text' in block && typeof block.text === 'string' ? block.text : ''
}
