import type { Block } from '../core/block.ts'
import type { Role } from '../core/message.ts'
import type { ContextMessage } from '../core/model.ts'
import type { Joined } from './join-results.ts'
import type { Shown } from './pairs.ts'

/** One message of the view of a path, what it weighs and what it stands for. */
export interface Item {
  readonly message: ContextMessage
  /** True for what a person said: an exchange begins here. */
  readonly opens: boolean
  readonly tokens: number
  readonly characters: number
  /** How many messages of the path it stands for: none if it was made up, several where results are joined. */
  stands: number
  /** The last of them, by its place in the path; of a made-up one, the message it belongs to. */
  last: number
}

/** Weighs blocks. `stored` is the count that was stored with them, if they are just what was stored. */
export interface Scales {
  tokens(blocks: readonly Block[], stored: number | null): number
  characters(blocks: readonly Block[]): number
}

/** Takes the items of a view as they are made, and sees to it that every message of the path is stood for once. */
export interface ItemList {
  readonly items: readonly Item[]
  /** Adds what is shown of the message at this place. `stored` is its stored count, if that is true of the blocks. */
  put(at: number, role: Role, blocks: readonly Block[], stored: number | null, opens?: boolean): void
  /** Adds the results that belong behind the message at this place. */
  putResults(at: number, joined: Joined): void
  /** A message that shows nothing goes where its neighbour goes. */
  skip(at: number): void
}

export function itemList(path: readonly Shown[], scales: Scales): ItemList {
  const items: Item[] = []
  const counted = new Uint8Array(path.length)
  /** Messages that show nothing and have no neighbour yet. */
  let waiting = 0

  function count(at: number): number {
    if (counted[at] === 1) return 0
    counted[at] = 1
    return 1
  }
  function add(
    message: ContextMessage,
    stored: number | null,
    opens: boolean,
    stands: number,
    last: number,
  ): void {
    const tokens = scales.tokens(message.blocks, stored)
    const characters = scales.characters(message.blocks)
    items.push({ message, opens, tokens, characters, stands, last })
  }

  return {
    items,
    put(at, role, blocks, stored, opens = false) {
      add({ role, blocks, id: path[at]!.message.id }, stored, opens, count(at) + waiting, at)
      waiting = 0
    },
    putResults(at, { blocks, sources, tokens }) {
      let stands = 0
      let last = at
      for (const source of sources) {
        stands += count(source)
        last = Math.max(last, source)
      }
      const first = sources[0]
      const made: ContextMessage = { role: 'tool_result', blocks }
      const message = first === undefined ? made : { ...made, id: path[first]!.message.id }
      add(message, tokens, false, stands, last)
    },
    skip(at) {
      const before = items.at(-1)
      if (!before) waiting += count(at)
      else {
        before.stands += count(at)
        before.last = Math.max(before.last, at)
      }
    },
  }
}
