import type { CutOffCells } from './cut-off.ts'
import type { HandOverCells } from './hand-over.ts'
import { type RealAgent, titleOf } from './real-agent.ts'
import type { RecallCells } from './recall.ts'
import type { ReopenedCells } from './reopened.ts'
import type { RestartCells } from './restart.ts'
import type { Way } from './world.ts'

/** All cells of a row. */
export type AgentCells = RestartCells & CutOffCells & HandOverCells & ReopenedCells & RecallCells

/** The results of one agent in one setup. */
export interface Row {
  readonly agent: RealAgent
  readonly way: Way
  /** The day of the run. */
  readonly day: string
  readonly cells: Partial<AgentCells> | { readonly failed: string }
}

/** docs/acp.md explains the columns before the table. */
const columns = {
  memory: 'memory',
  shown: 'shown once',
  question: 'cut: question',
  half: 'cut: half answer',
  halfShown: 'cut: shown once',
  list: 'list',
  resume: 'resume',
  fork: 'fork',
  close: 'close',
  delete: 'delete',
  deleteFork: 'delete with a fork',
  reload: 'open session loaded again',
  terminal: 'terminal output',
  facts: 'hand-over facts',
  mcp: 'skein mcp',
} as const satisfies Record<keyof AgentCells, string>

/** The table of a run, in Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const heads = ['agent', '', ...Object.values(columns)]
  const lines = rows.map(({ agent, way, cells }, i) => {
    const isFirst = rows[i - 1]?.agent !== agent
    const name = isFirst ? titleOf(agent) : ''
    const values =
      'failed' in cells
        ? [
            `did not run: ${oneLine(cells.failed)}`,
            ...Object.keys(columns)
              .slice(1)
              .map(() => ''),
          ]
        : Object.keys(columns).map(column => cells[column as keyof typeof columns] ?? '')
    return `| ${[name, way, ...values].join(' | ')} |`
  })
  const notes = [...new Set(rows.map(({ agent }) => agent))].flatMap(({ name, note }) =>
    note ? [`- ${name} ${note}.`.replace(/(.{80,104}) /g, '$1\n  ')] : [],
  )
  const table = [`| ${heads.join(' | ')} |`, `|${heads.map(() => '---|').join('')}`, ...lines].join('\n')
  return [table, ...(notes.length > 0 ? [notes.join('\n')] : [])].join('\n\n')
}

/** A text for a cell. */
export function oneLine(text: string): string {
  return text.split('\n')[0]!.replaceAll('|', '\\|').slice(0, 120)
}
