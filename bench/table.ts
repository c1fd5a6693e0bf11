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

/** The missed rows with their causes, for below the table. Rows with one cause share an entry. */
export function missedRows(lines: readonly Line[]): string {
  const missed = lines.filter(line => verdictOf(line) === 'missed')
  const byCause = Map.groupBy(missed, ({ why = 'the cause is not known.' }) => why)
  const entries = Array.from(byCause, ([why, rows]) =>
    wrapped(`- *${rows.map(({ work }) => work).join('; ')}*: ${why}`),
  )
  return entries.length === 0 ? '' : ['Missed, and why:', '', ...entries].join('\n')
}

const width = 110

/** An entry of a list, in lines that are not too long. */
function wrapped(entry: string): string {
  const done: string[] = []
  let line = ''
  for (const word of entry.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.length <= width) line = longer
    else {
      done.push(line)
      line = `  ${word}`
    }
  }
  return [...done, line].join('\n')
}
