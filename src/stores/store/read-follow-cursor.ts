import { InvalidError } from '../../core/errors.ts'
import type { FollowActivityOptions } from '../../core/follow.ts'
import { aboveAll } from '../programs/cursor.ts'
import type { KnownTurn } from '../programs/follow.ts'
import type { FollowState } from './follow-cursor.ts'

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
