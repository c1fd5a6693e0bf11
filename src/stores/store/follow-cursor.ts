import { createHash } from 'node:crypto'
import type { Branch } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import { InvalidError } from '../../core/errors.ts'
import type { FollowActivityOptions } from '../../core/follow.ts'
import { aboveAll } from '../programs/cursor.ts'
import type { FollowPosition, KnownTurn } from '../programs/follow.ts'

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

/** Throws InvalidError if the text is not a cursor of `follow`. */
export function readFollowCursor(text: string): FollowState {
  const place = parsed(text)
  if (!Array.isArray(place) || place.length !== 7) throw notACursor()
  const [version, nextSeq, turnSeq, nextEvent, branches, fields, open] = place as unknown[]
  if (!Number.isSafeInteger(version) || ![nextSeq, turnSeq, nextEvent].every(isCount)) throw notACursor()
  if (typeof branches !== 'string' || typeof fields !== 'string') throw notACursor()
  if (!Array.isArray(open) || open.length > 1_000) throw notACursor()
  const turns = new Map(open.map(readTurn))
  return {
    version: version as number,
    nextSeq: nextSeq as number,
    turnSeq: turnSeq as number,
    nextEvent: nextEvent as number,
    branches,
    fields,
    turns,
  }
}

/** The time from which activity or tasks are followed, in milliseconds. Null: from now on. Throws
 *  InvalidError if `after` is not a cursor of them. */
export function readActivityStart({ after, since }: Omit<FollowActivityOptions, 'signal'>): number | null {
  if (after === undefined) return since?.getTime() ?? null
  const place = parsed(after)
  if (!Array.isArray(place) || place.length !== 1) throw notACursor()
  const [time] = place as unknown[]
  if (!Number.isSafeInteger(time) || Math.abs(time as number) > latestTime) throw notACursor()
  return time as number
}

/** The largest time that a Date can hold, and less than a column of either engine. */
const latestTime = 8.64e15

function parsed(text: unknown): unknown {
  if (typeof text !== 'string') throw notACursor()
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return null // reported as not a cursor
  }
}

function readTurn(entry: unknown): [number, KnownTurn] {
  if (!Array.isArray(entry) || entry.length !== 4) throw notACursor()
  const [first, last, lastStep, nextPiece] = entry as unknown[]
  if (![first, nextPiece].every(isCount) || ![last, lastStep].every(isCountOrNone)) throw notACursor()
  const known = { last: last as number, lastStep: lastStep as number, nextPiece: nextPiece as number }
  return [first as number, known]
}

/** Whether a value fits the column of a seq, in either engine. */
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= aboveAll
}

function isCountOrNone(value: unknown): boolean {
  return value === -1 || isCount(value)
}

function notACursor(): InvalidError {
  return new InvalidError('after', 'is not a cursor of an event: pass the `cursor` of one')
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
