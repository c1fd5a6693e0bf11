import type { Message } from '../../core/message.ts'
import { blockText } from '../transcript/answer-text.ts'
import { toldText } from './told-turn.ts'

/** Removes white space: agents split, join and trim the texts that they repeat. */
export function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '')
}

/** A stored turn, by its texts. */
export interface TurnText {
  /** Null for messages before the first one of the user. */
  readonly question: MessageText | null
  readonly rest: readonly MessageText[]
}

/** A stored message, by its text. */
export interface MessageText {
  readonly message: Message
  /** Without white space; empty if the message has no text, or was erased. */
  readonly text: string
  /** False if `text` is only the beginning, because the message was read as a preview. */
  readonly isWhole: boolean
  /** Its text in an injected history, without white space; empty if it has none. */
  readonly injected: string
}

/** The turns of a stored path. */
export function turnTexts(messages: readonly Message[]): readonly TurnText[] {
  const turns: { question: MessageText | null; rest: MessageText[] }[] = []
  for (const message of messages) {
    const read = textIn(message)
    if (message.role === 'user') turns.push({ question: read, rest: [] })
    else if (turns.length === 0) turns.push({ question: null, rest: [read] })
    else turns.at(-1)!.rest.push(read)
  }
  return turns
}

function textIn(message: Message): MessageText {
  const injected = withoutSpace(toldText(message))
  if (message.erased) return { message, text: '', isWhole: true, injected }
  const cut = cutBlock(message)
  const blocks = cut === -1 ? message.content : message.content.slice(0, cut + 1)
  const texts = blocks.flatMap(block => (block.type === 'text' ? [blockText(block)] : []))
  return { message, text: withoutSpace(texts.join('')), isWhole: cut === -1, injected }
}

/** The index of the first text block that a preview cut off, or -1. */
function cutBlock({ content: blocks, blobs }: Message): number {
  if (blobs.every(({ whole }) => whole)) return -1
  return blocks.findIndex(
    ({ type }, i) =>
      type === 'text' && blobs.some(({ whole, pointer }) => !whole && pointer === `/blocks/${i}/text`),
  )
}
