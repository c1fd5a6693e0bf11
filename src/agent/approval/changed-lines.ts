/** A line of a change. */
export interface ChangedLine {
  /** A space for a line that stays, and gives context. */
  readonly sign: '+' | '-' | ' '
  readonly text: string
  /** The number of the line: in the old text if it stays or is removed, in the new text if it is added. */
  readonly line: number
}

/** Lines of context around a change. */
const context = 2

/** The lines that differ between two texts, as one block with some context: the lines before and after the
 *  block are the same. `null` is a file that does not exist. */
export function changedLines(oldText: string | null, newText: string): readonly ChangedLine[] {
  const before = linesOf(oldText ?? '')
  const after = linesOf(newText)
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start++
  let end = 0
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const from = Math.max(0, start - context)
  const until = Math.min(before.length, before.length - end + context)
  const kept = (first: number, last: number) =>
    before.slice(first, last).map((text, i) => ({ sign: ' ', text, line: first + i + 1 }) as const)
  if (start === before.length && start === after.length) return []
  return [
    ...kept(from, start),
    ...before
      .slice(start, before.length - end)
      .map((text, i) => ({ sign: '-', text, line: start + i + 1 }) as const),
    ...after
      .slice(start, after.length - end)
      .map((text, i) => ({ sign: '+', text, line: start + i + 1 }) as const),
    ...kept(before.length - end, until),
  ]
}

function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}
