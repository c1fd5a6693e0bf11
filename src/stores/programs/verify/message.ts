import { latestTime } from '../../../core/check.ts'
import { hashMessage, sha256Hex } from '../../../core/hash.ts'
import type { ConversationId, MessageId } from '../../../core/ids.ts'
import { type Role, roles } from '../../../core/message.ts'
import type { RawMessageRow, RawPositionRow } from '../../engine/statements-verify.ts'
import { type FindingList, subjectOf } from './findings.ts'

/** The facts about a message's parent, and its computed id if that differs from the stored one. */
export type ParentFacts = Pick<RawPositionRow, 'id' | 'run' | 'depth' | 'path_tokens'> & {
  readonly trueId?: string
}

/** Whether each column has its type, which damage can change. */
export function hasColumnTypes(row: RawMessageRow): boolean {
  const { seq, parent_seq, run, depth, at, tokens, path_tokens, turn, step } = row
  return (
    [seq, parent_seq, run, depth, at, tokens, path_tokens].every(Number.isSafeInteger) &&
    [turn, step].every(value => value === null || Number.isSafeInteger(value)) &&
    [row.id, row.role].every(value => typeof value === 'string') &&
    [row.label, row.body, row.erased].every(value => value === null || typeof value === 'string') &&
    row.body_hash instanceof Uint8Array
  )
}

/** Checks content, role, time and parent against the id. If the computed id differs, returns it: the
 *  children of the message may refer to it. */
export function checkWords(
  row: RawMessageRow,
  above: string,
  trueAbove: string | undefined,
  findings: FindingList,
) {
  const about = subjectOf(row)
  if (!roles.includes(row.role as Role)) findings.add('damage', 'who said it cannot be read', about)
  if (!isTime(row.at)) findings.add('damage', 'when it was said cannot be read', about)
  const stored = Buffer.from(row.body_hash).toString('hex')
  const idWith = (parent: string, hash: string) =>
    hashMessage(parent as MessageId | ConversationId, row.role as Role, row.at, hash)
  const isIdOf = (hash: string) =>
    idWith(above, hash) === row.id || (trueAbove !== undefined && idWith(trueAbove, hash) === row.id)

  const found = row.body === null ? stored : sha256Hex(row.body)
  if (found !== stored) {
    if (isIdOf(found)) {
      findings.add('repairable', 'the stored hash of its words is wrong, the words are right', about)
      return undefined
    }
    findings.add('damage', 'stored text does not match its id', about)
  }
  if (isIdOf(stored)) return undefined
  findings.add('damage', 'its id does not match who said it, when, or after what', about)
  return idWith(trueAbove ?? above, found)
}

/** Checks that an erased message says by whom, when and why. */
export function checkErasure(row: RawMessageRow, findings: FindingList): void {
  const about = subjectOf(row)
  if (row.body === null && row.erased === null) findings.add('damage', 'its words are missing', about)
  if (row.body !== null && row.erased !== null)
    findings.add('repairable', 'it is marked as erased, and has words', about)
  if (row.erased !== null && !isErasure(row.erased))
    findings.add('repairable', 'who erased it, when and why cannot be read', about)
}

function isErasure(text: string): boolean {
  try {
    const { at, by, reason } = JSON.parse(text) as Record<string, unknown>
    return isTime(at) && typeof by === 'string' && typeof reason === 'string'
  } catch {
    return false
  }
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= latestTime
}

/** Checks the columns that are derived from the parent. */
export function checkPlace(row: RawMessageRow, above: ParentFacts | null, findings: FindingList): void {
  const about = subjectOf(row)
  const follows = above !== null && row.parent_seq === row.seq - 1
  const expected = {
    depth: above === null ? 0 : above.depth + 1,
    run: follows ? above.run : row.seq,
    path_tokens: (above?.path_tokens ?? 0) + row.tokens,
  }
  for (const [name, value] of Object.entries(expected)) {
    const stored = row[name as keyof typeof expected]
    if (stored !== value) findings.add('repairable', `${name} is ${stored}, and should be ${value}`, about)
  }
}
