import type { Line } from './suite.ts'

const heading = ['work', 'floor', 'ours', 'ratio (rounds from … to)', 'goal', 'verdict', 'note']

/** The lines as a Markdown table, its columns aligned for a terminal. */
export function table(lines: readonly Line[]): string {
  const rows = [heading, heading.map(() => '---'), ...lines.map(cells)]
  const widths = heading.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows
    .map((row, n) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!, n === 1 ? '-' : ' ')).join(' | ')} |`)
    .join('\n')
}

function cells(line: Line): string[] {
  const { work, floor = '', ours, goal, note = '' } = line
  return [work, floor, ours, ratioOf(line), goal === undefined ? '' : `≤ ${goal}`, verdictOf(line), note]
}

function ratioOf({ ratio }: Line): string {
  if (ratio === undefined) return ''
  if (typeof ratio === 'number') return ratio.toFixed(2)
  return `${ratio.middle.toFixed(2)} (${ratio.least.toFixed(2)} … ${ratio.most.toFixed(2)})`
}

/** Held against the goal is the middle of the rounds. */
export function verdictOf({ ratio, value, goal }: Line): string {
  const measured = value ?? (typeof ratio === 'object' ? ratio.middle : ratio)
  if (goal === undefined || measured === undefined) return ''
  return measured <= goal ? 'met' : 'missed'
}
