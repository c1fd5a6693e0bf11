import { errorText } from '../../../core/error-text.ts'
import { CorruptError, InvalidError, SkeinError } from '../../../core/errors.ts'
import type { Finding, Severity } from '../../../core/finding.ts'
import type { Program } from '../../engine/engine.ts'

/** The subject of a finding within its conversation. */
export interface FindingSubject {
  readonly message?: string | null
  readonly branch?: string
  readonly seq?: number
  /** Messages before it on its path. */
  readonly before?: number
}

export function subjectOf(row: {
  readonly id: string
  readonly seq: number
  readonly depth: number
}): FindingSubject {
  return { message: row.id, seq: row.seq, before: row.depth }
}

/** The findings of a conversation: a limited list, and the number of the others. */
export interface FindingList {
  readonly list: readonly Finding[]
  /** Findings that are not listed. */
  readonly more: Readonly<Record<Severity, number>>
  add(severity: Severity, what: string, about?: FindingSubject): void
  has(severity: Severity): boolean
}

/** More findings say nothing new about a conversation. */
const mostListed = 1_000

export function createFindingList(conversation: string | null): FindingList {
  const list: Finding[] = []
  const more = { damage: 0, repairable: 0, note: 0 }
  return { list, more, add, has }

  function add(
    severity: Severity,
    what: string,
    { message = null, branch, seq, before }: FindingSubject = {},
  ): void {
    if (list.length >= mostListed) {
      more[severity]++
      return
    }
    list.push({
      severity,
      conversation,
      message,
      branch: branch ?? null,
      seq: seq ?? null,
      what,
      before: before ?? null,
      standing: null,
    })
  }

  function has(severity: Severity): boolean {
    return more[severity] > 0 || list.some(finding => finding.severity === severity)
  }
}

/** Whether an error is caused by stored data. Other errors (unreachable, aborted) are not findings. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === 'AbortError') return false
  return !(error instanceof SkeinError) || error instanceof CorruptError || error instanceof InvalidError
}

/** Adds a finding if a row cannot be converted to a value. */
export function checkReadable(findings: FindingList, convert: () => unknown, about?: FindingSubject): void {
  try {
    convert()
  } catch (error) {
    if (!isDamage(error)) throw error
    findings.add('damage', errorText(error), about)
  }
}

/** Runs a part of the check. If it cannot be read, that is a finding. */
export function* guarded(findings: FindingList, what: string, part: () => Program<void>): Program<void> {
  try {
    yield* part()
  } catch (error) {
    if (!isDamage(error)) throw error
    findings.add('damage', `${what} cannot be read: ${errorText(error)}`)
  }
}
