/** A row of the statement `tail`, as it arrives. */
interface SparseRow {
  readonly seq: number
  readonly tokens: number
  /** Null if it is the seq before. */
  readonly parent_seq: number | null
  /** Null except in the newest row. */
  readonly depth: number | null
  /** Null except in the newest row. */
  readonly path_tokens: number | null
}

/** Fills in the columns of a tail that follow from its newest row, and returns the rows in order. */
export function completeTail(rows: readonly unknown[]): readonly unknown[] {
  const inOrder = (rows as readonly SparseRow[]).toSorted((a, b) => a.seq - b.seq)
  let depth = inOrder.at(-1)?.depth ?? 0
  let pathTokens = inOrder.at(-1)?.path_tokens ?? 0
  for (let i = inOrder.length - 1; i >= 0; i--) {
    const row = inOrder[i]!
    Object.assign(row, { depth: depth--, path_tokens: pathTokens, parent_seq: row.parent_seq ?? row.seq - 1 })
    pathTokens -= row.tokens
  }
  return inOrder
}
