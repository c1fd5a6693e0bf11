import { hash } from 'node:crypto'
import type { ConversationId, MessageId } from './ids.ts'
import type { Role } from './message.ts'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

// Two characters for each 10-bit number, which halves the steps of base32 on the append path. Created
// lazily: reading does not need it.
let pairs: readonly string[] | undefined

function makePairs(): readonly string[] {
  return Array.from({ length: 1024 }, (_, n) => `${alphabet[n >> 5]}${alphabet[n & 31]}`)
}

/** SHA-256 in hex over bytes, or over the UTF-8 of a text. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex')
}

/** The id of a message: the first 160 bits of SHA-256 over parent id, role, time and the hash of the body.
 *  Specified with test vectors in `docs/data-model.md`. */
export function hashMessage(
  parent: MessageId | ConversationId,
  role: Role,
  time: number,
  bodyHash: string,
): MessageId {
  // A binary string, because a Buffer for each message costs more than the hash itself.
  const digest = hash('sha256', `skein:1\n${parent}\n${role}\n${time}\n${bodyHash}\n`, 'binary')
  pairs ??= makePairs()
  let id = ''
  // 160 bits are four groups of five bytes, and five bytes are four 10-bit numbers.
  for (let i = 0; i < 20; i += 5) {
    const a = digest.charCodeAt(i)
    const b = digest.charCodeAt(i + 1)
    const c = digest.charCodeAt(i + 2)
    const d = digest.charCodeAt(i + 3)
    const e = digest.charCodeAt(i + 4)
    id += pairs[(a << 2) | (b >> 6)]! + pairs[((b & 63) << 4) | (c >> 4)]!
    id += pairs[((c & 15) << 6) | (d >> 2)]! + pairs[((d & 3) << 8) | e]!
  }
  return id as MessageId
}
