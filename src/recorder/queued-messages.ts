import { isMedia, type MediaBlock, type NewBlock } from '../core/block.ts'
import { SkeinError } from '../core/errors.ts'
import type { NewMessage } from '../core/message.ts'
import { estimateTokens } from '../core/tokens.ts'

/** The approximate size of messages in the queue, in characters. */
export function messageCharacters(messages: readonly NewMessage[]): number {
  let characters = 0
  for (const { content: blocks } of messages) {
    if (typeof blocks === 'string') characters += blocks.length
    else for (const block of blocks) characters += isMedia(block) ? mediaLength(block) : lengthOf(block)
  }
  return characters
}

/** Media have few tokens, but many characters. */
function mediaLength({ data }: MediaBlock): number {
  return data?.length ?? 0
}

function lengthOf(block: NewBlock): number {
  return 4 * estimateTokens([block])
}

/** Adds the time of arrival to messages or events that are stored later. */
export function withTime<T extends { readonly createdAt?: Date }>(
  said: readonly T[],
  at: number,
): readonly T[] {
  return said.map(one => (one.createdAt ? one : { ...one, createdAt: new Date(at) }))
}

/** Whether an error is the caller's, and not one of the storage. */
export function isCallerError(error: unknown): boolean {
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
