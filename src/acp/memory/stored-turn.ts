import { continuing, messageLines } from '../../context/text/as-text.ts'
import type { Message } from '../../core/message.ts'
import { wordsOf } from '../transcript/answer.ts'
import { bare } from './bare.ts'

/** Words of the user and what follows, as a replay can be searched for them. */
export interface StoredTurn {
  /** Null for what stands before the first words of the user. */
  readonly words: Words | null
  readonly rest: readonly Words[]
}

/** A stored message, by its words. */
export interface Words {
  readonly message: Message
  /** Bare; empty if it has none, or none any more. */
  readonly text: string
  /** False if the message holds only the beginning of its words. */
  readonly isWhole: boolean
  /** Bare, as we would tell it to an agent; empty if we would not. */
  readonly told: string
}

export function turnsOf(messages: readonly Message[]): readonly StoredTurn[] {
  const turns: { words: Words | null; rest: Words[] }[] = []
  for (const message of messages) {
    const read = wordsIn(message)
    if (message.role === 'user') turns.push({ words: read, rest: [] })
    else if (turns.length === 0) turns.push({ words: null, rest: [read] })
    else turns.at(-1)!.rest.push(read)
  }
  return turns
}

function wordsIn(message: Message): Words {
  const told = bare(messageLines(message, continuing)[0] ?? '')
  if (message.erased) return { message, text: '', isWhole: true, told }
  const cut = cutBlock(message)
  const blocks = cut === -1 ? message.blocks : message.blocks.slice(0, cut + 1)
  const texts = blocks.flatMap(block => (block.type === 'text' ? [wordsOf(block)] : []))
  return { message, text: bare(texts.join('')), isWhole: cut === -1, told }
}

/** The first text of which a preview brought only the beginning. */
function cutBlock({ blocks, blobs }: Message): number {
  if (blobs.every(({ whole }) => whole)) return -1
  return blocks.findIndex(
    ({ type }, i) =>
      type === 'text' && blobs.some(({ whole, pointer }) => !whole && pointer === `/blocks/${i}/text`),
  )
}
