import { cut, padEnd, widthOf } from '../../output/cut.ts'
import type { Output } from '../../output/output.ts'
import { wrap } from '../../output/wrap.ts'
import type { Candidate } from './complete-line.ts'

/** Most rows for candidates with a description, and without one. */
const most = { described: 8, plain: 3 } as const

/** The candidates for Tab below the prompt: one per row if they have descriptions, else side by side. */
export function offeredRows(
  offered: readonly Candidate[],
  { width, style }: Pick<Output, 'width' | 'style'>,
): readonly string[] {
  if (offered.length === 0) return []
  const { dots } = style.symbols
  const names = offered.map(({ text, shown = text }) => style.safe(shown))
  const row = (text: string) => style.faint(`  ${cut(text, width - 3, dots)}`)
  if (!offered.some(({ about }) => about)) {
    const rows = wrap(names.join('  '), width - 3)
    const shown = rows.length > most.plain ? [...rows.slice(0, 2), `${rows[2]} ${dots}`] : rows
    return shown.map(row)
  }
  const shown = offered.length > most.described ? offered.slice(0, most.described - 1) : offered
  const column = Math.max(...names.slice(0, shown.length).map(widthOf))
  const rows = shown.map(({ about = '' }, i) => row(`${padEnd(names[i]!, column)}  ${style.safe(about)}`))
  const hidden = offered.length - shown.length
  return hidden === 0 ? rows : [...rows, row(`${dots} and ${hidden} more`)]
}
