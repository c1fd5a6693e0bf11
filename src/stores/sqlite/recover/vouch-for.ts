import { latestTime } from '../../../core/check.ts'
import { hashMessage, sha256Hex } from '../../../core/hash.ts'
import type { ConversationId, MessageId } from '../../../core/ids.ts'
import { type Role, roles } from '../../../core/message.ts'

/** A message as found in a damaged file. Any field may be wrong. */
export interface FoundMessage {
  readonly id: string
  readonly seq: number
  readonly role: string
  readonly at: number
  /** Hexadecimal. */
  readonly bodyHash: string
  /** Undefined if it cannot be read. */
  readonly body: string | null | undefined
}

/** The fields of a message that its id confirms. */
export interface VouchedMessage {
  /** The parent that matches. */
  readonly parent: string
  readonly id: MessageId
  readonly role: Role
  readonly at: number
  readonly bodyHash: string
  /** False if the content found is not the original content. */
  readonly hasWords: boolean
}

/** Reconstructs a message from its id. Tries the content found and the hash found with each possible parent
 *  id. If nothing matches, tries one flipped bit in the time, another role, or one changed character in the
 *  id. Null if nothing matches. */
export function vouchFor(found: FoundMessage, parents: readonly string[]): VouchedMessage | null {
  const ofWords = typeof found.body === 'string' ? sha256Hex(found.body) : null
  const hashes = [...new Set([ofWords, found.bodyHash].filter(hash => hash !== null))]
  const idOf = (parent: string, role: Role, at: number, hash: string) =>
    hashMessage(parent as MessageId | ConversationId, role, at, hash)
  const result = (parent: string, id: string, role: Role, at: number, hash: string): VouchedMessage => ({
    parent,
    id: id as MessageId,
    role,
    at,
    bodyHash: hash,
    hasWords: found.body === null ? false : hash === ofWords,
  })
  const isRole = roles.includes(found.role as Role)
  const isTime = Number.isSafeInteger(found.at) && found.at >= 0 && found.at <= latestTime
  for (const hash of hashes) {
    for (const parent of parents) {
      if (!isRole || !isTime) break
      if (idOf(parent, found.role as Role, found.at, hash) === found.id)
        return result(parent, found.id, found.role as Role, found.at, hash)
    }
  }
  for (const hash of hashes) {
    for (const parent of parents) {
      for (const role of roles) {
        for (const at of isRole && role !== found.role ? [found.at] : timesNear(found.at)) {
          if (idOf(parent, role, at, hash) === found.id) return result(parent, found.id, role, at, hash)
        }
      }
    }
  }
  if (!isRole || !isTime || ofWords === null) return null
  for (const parent of parents) {
    const id = idOf(parent, found.role as Role, found.at, ofWords)
    if (differences(id, found.id) === 1) return result(parent, id, found.role as Role, found.at, ofWords)
  }
  return null
}

/** The time itself, and the time with each of its bits flipped. */
function timesNear(at: number): readonly number[] {
  if (!Number.isSafeInteger(at)) return []
  const times = [at]
  for (let bit = 0n; bit < 48n; bit++) times.push(Number(BigInt.asUintN(53, BigInt(at) ^ (1n << bit))))
  return times.filter(time => time >= 0 && time <= latestTime)
}

function differences(a: string, b: string): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY
  let count = 0
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) count++
  return count
}
