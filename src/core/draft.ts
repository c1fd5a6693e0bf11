import type { TextBlock, ThinkingBlock } from './block.ts'
import type { NewMessage } from './message.ts'
import type { DraftPiece, TurnEnd } from './turn.ts'

/** The message that a draft becomes when its turn ends, with pieces joined by type. Null without pieces.
 *  The metadata of an incomplete answer says `interrupted` or `failed`. */
export function messageOfDraft(
  pieces: readonly Pick<DraftPiece, 'type' | 'text'>[],
  status: TurnEnd['status'],
): NewMessage | null {
  if (pieces.length === 0) return null
  const blocks: (TextBlock | ThinkingBlock)[] = []
  for (const { type, text } of pieces) {
    const open = blocks.at(-1)
    if (open?.type === type) blocks[blocks.length - 1] = { type, text: open.text + text }
    else blocks.push({ type, text })
  }
  const message = { role: 'assistant', content: blocks } as const
  return status === 'complete' ? message : { ...message, metadata: { [status]: true } }
}
