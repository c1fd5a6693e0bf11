import type { Block } from '../../core/block.ts'
import type { Role } from '../../core/message.ts'
import type { ContextMessage } from '../../core/model.ts'
import type { JoinedResults, SendableMessage } from './pairs.ts'

/** One message of the view of a path, its size, and the messages of the path that it represents. */
export interface Item {
  readonly message: ContextMessage
  /** True for a message of the user that begins an exchange. */
  readonly opens: boolean
  readonly tokens: number
  readonly characters: number
  /** How many messages of the path it represents: none if it is synthetic, several for joined results. */
  covers: number
  /** The index in the path of the last of them; of a synthetic one, that of the message it belongs to. */
  last: number
}

/** Counts blocks. `stored` is the count that is stored with them, if the blocks are unchanged. */
export interface BlockCounter {
  tokens(blocks: readonly Block[], stored: number | null): number
  characters(blocks: readonly Block[]): number
}

/** Collects the items of a view. Every message of the path is counted in exactly one item. */
export interface ItemList {
  readonly items: readonly Item[]
  /** Adds blocks of the message at this index. `stored` is its stored count, if it is right for these
   *  blocks. */
  put(at: number, role: Role, content: readonly Block[], stored: number | null, opens?: boolean): void
  /** Adds the results that follow the message at this index. */
  putResults(at: number, joined: JoinedResults): void
  /** Counts a message without sendable blocks in its neighbour. */
  skip(at: number): void
}

export function itemList(path: readonly SendableMessage[], counter: BlockCounter): ItemList {
  const items: Item[] = []
  const counted = new Uint8Array(path.length)
  /** Skipped messages that have no neighbour yet. */
  let skipped = 0

  function count(at: number): number {
    if (counted[at] === 1) return 0
    counted[at] = 1
    return 1
  }
  function add(
    message: ContextMessage,
    stored: number | null,
    opens: boolean,
    covers: number,
    last: number,
  ): void {
    const tokens = counter.tokens(message.content, stored)
    const characters = counter.characters(message.content)
    items.push({ message, opens, tokens, characters, covers, last })
  }

  return {
    items,
    put(at, role, content, stored, opens = false) {
      add({ role, content, id: path[at]!.message.id }, stored, opens, count(at) + skipped, at)
      skipped = 0
    },
    putResults(at, { blocks, sources, tokens }) {
      let covers = 0
      let last = at
      for (const source of sources) {
        covers += count(source)
        last = Math.max(last, source)
      }
      const first = sources[0]
      const made: ContextMessage = { role: 'tool_result', content: blocks }
      const message = first === undefined ? made : { ...made, id: path[first]!.message.id }
      add(message, tokens, false, covers, last)
    },
    skip(at) {
      const before = items.at(-1)
      if (!before) skipped += count(at)
      else {
        before.covers += count(at)
        before.last = Math.max(before.last, at)
      }
    },
  }
}
