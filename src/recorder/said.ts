import { type Block, isMedia, type MediaBlock } from '../core/block.ts'
import { SkeinError } from '../core/errors.ts'
import type { NewMessage, NonEmpty } from '../core/message.ts'
import { estimateTokens } from '../core/tokens.ts'

/** About how many characters messages take up while they wait. */
export function charactersOf(messages: readonly NewMessage[]): number {
  let characters = 0
  for (const { blocks } of messages) {
    if (typeof blocks === 'string') characters += blocks.length
    else for (const block of blocks) characters += isMedia(block) ? mediaLength(block) : lengthOf(block)
  }
  return characters
}

/** Media count little in tokens, and much here. */
function mediaLength({ data }: MediaBlock): number {
  return data?.length ?? 0
}

function lengthOf(block: Block): number {
  return 4 * estimateTokens([block])
}

/** Messages, or events, with the time at which they came: what is stored later was not said later. */
export function dated<T extends { readonly at?: Date }>(said: NonEmpty<T>, at: number): NonEmpty<T> {
  return said.map(one => (one.at ? one : { ...one, at: new Date(at) })) as unknown as NonEmpty<T>
}

/** Whether an error says that the caller asked for something that cannot be, rather than that storage fails. */
export function isForTheCaller(error: unknown): boolean {
  if (!(error instanceof SkeinError)) return false
  switch (error.code) {
    case 'invalid':
    case 'not_found':
    case 'conflict':
    case 'busy':
    case 'key_reused':
      return true
    default:
      return false
  }
}
