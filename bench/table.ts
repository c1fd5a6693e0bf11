import type { Line } from './suite.ts'

/** The rows as a Markdown table, with columns aligned for a terminal. Peers have columns if they were
 *  measured. */
export function table(lines: readonly Line[]): string {
  const withPeers = lines.some(line => line.langgraph ?? line.mastra)
  const peers = withPeers ? ['LangGraph', 'Mastra'] : []
  const heading = ['work', 'floor', 'ours', 'ratio (rounds from … to)', 'goal', 'verdict', ...peers, 'note']
  const rows = [heading, heading.map(() => '---'), ...lines.map(line => cells(line, withPeers))]
  const widths = heading.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows
    .map((row, n) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!, n === 1 ? '-' : ' ')).join(' | ')} |`)
    .join('\n')
}

function cells(line: Line, withPeers: boolean): string[] {
  const { work, floor = '', ours, goal, more, langgraph = '', mastra = '', note = '' } = line
  const wanted = goal === undefined ? '' : `${more ? '≥' : '≤'} ${goal}`
  const peers = withPeers ? [langgraph, mastra] : []
  return [work, floor, ours, ratioOf(line), wanted, verdictOf(line), ...peers, note]
}

function ratioOf({ ratio }: Line): string {
  if (ratio === undefined) return ''
  if (typeof ratio === 'number') return ratio.toFixed(2)
  return `${ratio.middle.toFixed(2)} (${ratio.least.toFixed(2)} … ${ratio.most.toFixed(2)})`
}

/** The median of the rounds is compared with the goal. */
export function verdictOf({ ratio, value, goal, more }: Line): string {
  const measured = value ?? (typeof ratio === 'object' ? ratio.middle : ratio)
  if (goal === undefined || measured === undefined) return ''
  return (more ? measured >= goal : measured <= goal) ? 'met' : 'missed'
}
