import type { CandidateRow, ChainRow } from '../engine/rows.ts'
import type { RowReader } from './prepared.ts'

/** Rows of the statements `path`, `tail`, `tailOfBranch` and `candidates`. They are made by an object
 *  literal: to set 15 properties by their names, as for other statements, takes four times as long. */

/** A row whose columns are filled in later. */
type OpenRow = { -readonly [Column in keyof ChainRow]: ChainRow[Column] }

type Fields = Parameters<RowReader>[0]

const ownColumns = ['id', 'seq', 'role', 'at', 'tokens', 'turn', 'step', 'label', 'body', 'erased'] as const

/** The columns that these readers expect, in this order. */
export const chainColumns: Readonly<Record<'path' | 'tail' | 'tailOfBranch', readonly string[]>> = {
  path: [...ownColumns, 'parent_seq', 'depth', 'path_tokens', 'conversation_id', 'end_depth'],
  tail: [...ownColumns, 'newest'],
  tailOfBranch: [...ownColumns, 'newest'],
}

/** Makes a row of the statement `path`. */
export function pathRow(fields: Fields): OpenRow {
  const row = tailRow(fields)
  row.parent_seq = Number(fields[10])
  row.depth = Number(fields[11])
  row.path_tokens = Number(fields[12])
  row.conversation_id = fields[13]!
  row.end_depth = numberOrNull(fields[14]!)
  return row
}

/** Makes a row of the statements `tail` and `tailOfBranch`. `completeTail` fills in the columns that are 0
 *  here. */
export function tailRow(fields: Fields): OpenRow {
  return {
    id: fields[0]!,
    seq: Number(fields[1]),
    role: fields[2]!,
    at: Number(fields[3]),
    tokens: Number(fields[4]),
    turn: numberOrNull(fields[5]!),
    step: numberOrNull(fields[6]!),
    label: fields[7]!,
    body: fields[8]!,
    erased: fields[9]!,
    parent_seq: 0,
    depth: 0,
    path_tokens: 0,
    // The column `newest`, until `completeTail`.
    conversation_id: fields[10]!,
    end_depth: null,
  }
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text)
}

/** Fills in the columns of a tail that follow from its newest row, and returns the rows in order. The parent
 *  of the oldest row is not known: it counts as the seq before, or as none if the row is a root. */
export function completeTail(rows: readonly unknown[]): readonly unknown[] {
  const inOrder = (rows as readonly OpenRow[]).toSorted((a, b) => a.seq - b.seq)
  const newest = inOrder.at(-1)
  if (newest === undefined) return inOrder
  const [conversation, lastDepth, lastTokens] = newest.conversation_id!.split(' ')
  newest.conversation_id = conversation!
  newest.end_depth = Number(lastDepth)
  let depth = Number(lastDepth)
  let pathTokens = Number(lastTokens)
  for (let i = inOrder.length - 1; i >= 0; i--) {
    const row = inOrder[i]!
    row.parent_seq = depth === 0 ? -1 : (inOrder[i - 1]?.seq ?? row.seq - 1)
    row.depth = depth--
    row.path_tokens = pathTokens
    pathTokens -= row.tokens
  }
  return inOrder
}

/** The columns that `candidateRow` expects, in this order. */
export const candidateColumns: readonly string[] = ['conv', 'seq', 'at', 'body']

/** Makes a row of the statement `candidates`. A ranked search reads 2,000 of them. A conversation has no
 *  number besides its id, so the id is sent once. */
export function candidateRow(fields: Fields): { [Column in keyof CandidateRow]: unknown } {
  return {
    conv: fields[0],
    conversation_id: fields[0],
    seq: Number(fields[1]),
    at: Number(fields[2]),
    body: fields[3],
  }
}
