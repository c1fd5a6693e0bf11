import type { LeftReason } from './fitted.ts'

/** What messages take up, or may take up. */
export interface Room {
  tokens: number
  messages: number
  characters: number
}

/** Why this is more than the room there is; null if it is not. */
export function exceeds(taken: Readonly<Room>, room: Readonly<Room>): LeftReason | null {
  if (taken.tokens > room.tokens) return 'window'
  if (taken.messages > room.messages) return 'max_messages'
  return taken.characters > room.characters ? 'max_chars' : null
}

/** What these take up together. */
export function roomFor(items: readonly { readonly tokens: number; readonly characters: number }[]): Room {
  const room = { tokens: 0, messages: items.length, characters: 0 }
  for (const { tokens, characters } of items) {
    room.tokens += tokens
    room.characters += characters
  }
  return room
}
