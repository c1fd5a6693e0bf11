import type { Block } from '../../core/block.ts'
import type { NewMessage } from '../../core/message.ts'
import { createFold, type FoldEffect } from './fold.ts'
import type { Heard } from './heard.ts'

/** The messages of a whole replay, turn by turn: for a session that only the agent has stored. */
export function messagesFromReplay(heard: readonly Heard[]): readonly NewMessage[] {
  const messages: NewMessage[] = []
  let said: Block[] = []
  let fold = createFold()
  const keep = (effects: readonly FoldEffect[]) => {
    for (const effect of effects) if (effect.type === 'message') messages.push(effect.message)
  }
  const endWords = () => {
    if (said.length > 0) messages.push({ role: 'user', content: said })
    said = []
  }
  for (const one of heard) {
    if (one.type === 'user') {
      if (said.length === 0) {
        keep(fold.end())
        fold = createFold()
      }
      said = joined(said, one.block)
    } else {
      endWords()
      keep(fold.hear(one))
    }
  }
  endWords()
  keep(fold.end())
  return messages
}

/** Chunks of text are one text. */
function joined(blocks: readonly Block[], block: Block): Block[] {
  const last = blocks.at(-1)
  if (last?.type !== 'text' || block.type !== 'text' || last.metadata || block.metadata)
    return [...blocks, block]
  return [...blocks.slice(0, -1), { type: 'text', text: `${last.text}${block.text}` }]
}
