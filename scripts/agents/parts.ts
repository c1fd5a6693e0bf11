import { byHost } from './by-host.ts'
import { catalogue } from './catalogue.ts'
import { cutOff } from './cut-off.ts'
import { handOver } from './hand-over.ts'
import { install } from './install.ts'
import type { RealAgent } from './real-agent.ts'
import { recall } from './recall.ts'
import { reopened } from './reopened.ts'
import { restart } from './restart.ts'
import { type AgentCells, oneLine, type Row } from './table.ts'
import { openWorld, type Way } from './world.ts'

/** The parts of a run, each in worlds of its own, and their columns. */
const columnsOf = {
  restart: ['memory', 'shown', 'list', 'resume', 'fork', 'close', 'delete'],
  cut: ['question', 'half', 'halfShown'],
  open: ['deleteFork', 'reload'],
  work: ['terminal', 'facts'],
  mcp: ['mcp'],
} as const satisfies Record<string, readonly (keyof AgentCells)[]>

export type Part = keyof typeof columnsOf
export const parts = Object.keys(columnsOf) as readonly Part[]

/** The agent that continues the work of each one. */
const successors: Readonly<Record<string, string>> = {
  claude: 'codex',
  codex: 'copilot',
  copilot: 'opencode',
  opencode: 'pi',
  pi: 'claude',
  gemini: 'codex-zed',
  'codex-zed': 'gemini',
  goose: 'qwen',
  qwen: 'kimi',
  kimi: 'cline',
  cline: 'goose',
}

/** The agent that is told what another one has to find with `skein mcp`. */
const toldAgent = (name: string) => (name === 'codex-zed' ? 'codex' : 'codex-zed')

export interface Place {
  /** The folder of installed agents. */
  readonly dir: string
  /** Our own command, as built. */
  readonly skein: string
}

/** The cells of some parts, in one setup. A part that fails names the reason in its cells. */
export async function cellsOf(
  agent: RealAgent,
  way: Way,
  chosen: readonly Part[],
  place: Place,
): Promise<Row['cells']> {
  try {
    await install(agent, place.dir)
    if (way === 'in skein agent') {
      if (!chosen.includes('restart') && !chosen.includes('cut')) return {}
      await using world = await open(agent, way, place)
      return await byHost(world)
    }
  } catch (error) {
    return { failed: reasonOf(error) }
  }
  let cells: Partial<AgentCells> = {}
  for (const part of chosen) {
    const found = await runs[part](agent, way, place).catch((error: unknown) =>
      Object.fromEntries(columnsOf[part].map(column => [column, `did not run: ${oneLine(reasonOf(error))}`])),
    )
    cells = { ...cells, ...found }
  }
  return cells
}

type Run = (agent: RealAgent, way: Way, place: Place) => Promise<Partial<AgentCells>>

const runs: Readonly<Record<Part, Run>> = {
  async restart(agent, way, place) {
    await using world = await open(agent, way, place)
    return await restart(world)
  },
  async cut(agent, way, place) {
    await using world = await open(agent, way, place)
    return await cutOff(world)
  },
  async open(agent, way, place) {
    await using world = await open(agent, way, place)
    return await reopened(world)
  },
  async work(agent, way, place) {
    await using world = await open(agent, way, place)
    if (way === 'directly') return await handOver(world, null)
    await using next = await open(named(successors[agent.name]!), way, place, { store: world.store })
    return await handOver(world, next)
  },
  async mcp(agent, way, place) {
    await using world = await open(agent, way, place)
    const { store, cwd } = world
    // Behind the proxy, because its words have to be in the store.
    await using other = await open(named(toldAgent(agent.name)), 'behind skein acp', place, { store, cwd })
    return await recall(world, other)
  },
}

async function open(
  agent: RealAgent,
  way: Way,
  { dir, skein }: Place,
  shared: { readonly store?: string; readonly cwd?: string } = {},
) {
  return openWorld({ agent, bin: await install(agent, dir), way, skein, ...shared })
}

function named(name: string): RealAgent {
  return catalogue.find(one => one.name === name)!
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
