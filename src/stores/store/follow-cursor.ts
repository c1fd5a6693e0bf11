import { createHash } from 'node:crypto'
import type { Branch } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { FollowPosition } from '../programs/follow.ts'

/** Everything that a follower of a conversation has been told, so that another process can continue. */
export interface FollowState extends FollowPosition {
  /** The version up to which everything was delivered, or 0. */
  readonly version: number
  /** A digest of the delivered branches, and one of the delivered fields of the conversation. */
  readonly branches: string
  readonly fields: string
}

export function writeFollowCursor({
  version,
  nextSeq,
  turnSeq,
  nextEvent,
  branches,
  fields,
  turns,
}: FollowState): string {
  const open = [...turns].map(([first, { last, lastStep, nextPiece }]) => [first, last, lastStep, nextPiece])
  const place = [version, nextSeq, turnSeq, nextEvent, branches, fields, open]
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** A digest of all branches. */
export function digestOfBranches(branches: Iterable<Branch>): string {
  return digest([...branches].map(textOfBranch).sort())
}

/** Equal for two states of a branch if nothing has changed. */
export function textOfBranch({ name, head, key, formerKey, title }: Branch): string {
  return JSON.stringify([name, head, key, formerKey, title])
}

/** A digest of the fields of a conversation that are not counters. */
export function digestOfFields(conversation: Conversation): string {
  const { messages, tokens, tokensUsed, cost, version, updatedAt, expiresAt, ...fields } = conversation
  return digest([JSON.stringify(fields)])
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 12)
}
