import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { killAll } from '../test/acp/agents/processes.ts'
import { byHost } from './agents/by-host.ts'
import { catalogue } from './agents/catalogue.ts'
import { compareConformance } from './agents/conformance.ts'
import { cutOff } from './agents/cut-off.ts'
import { handOver } from './agents/hand-over.ts'
import { install } from './agents/install.ts'
import type { RealAgent } from './agents/real-agent.ts'
import { reopened } from './agents/reopened.ts'
import { restart } from './agents/restart.ts'
import { openResults } from './agents/results.ts'
import { saveTable } from './agents/save.ts'
import { type Row, tableOf } from './agents/table.ts'
import { type AgentWorld, openWorld, type Way, ways } from './agents/world.ts'
import { root } from './check/command.ts'

/** Installs other vendors' agents into a scratch folder and kills them, alone and behind our proxy: what do
 *  they still know, and what does an editor see? Names of agents and `--way` select a part. Needs the npm
 *  registry, and `npm run build` for the proxy; `--save` writes the table into docs/acp.md.
 *  `--conformance` runs the published requirements of the protocol instead. */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dir: { type: 'string', default: join(root, 'node_modules/.cache/agents') },
    way: { type: 'string', multiple: true, default: [...ways] },
    skein: { type: 'string', default: join(root, 'dist/cli/skein.cjs') },
    save: { type: 'boolean', default: false },
    conformance: { type: 'boolean', default: false },
  },
})
const unknown = positionals.filter(name => !catalogue.some(one => one.name === name))
if (unknown.length > 0) {
  const names = catalogue.map(({ name }) => name).join(', ')
  console.error(`agents: no agent ${unknown.join(', ')}; there are ${names}`)
  process.exit(2)
}
const noWay = values.way.filter(way => !(ways as readonly string[]).includes(way))
if (noWay.length > 0) {
  console.error(`agents: no way ${noWay.join(', ')}; there are ${ways.join(', ')}`)
  process.exit(2)
}
mkdirSync(values.dir, { recursive: true })

// All child processes inherit this variable, so an interrupted run can find and kill them.
const everything = { run: randomUUID(), variable: 'AGENTS_RUN' }
process.env[everything.variable] = everything.run
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    const leave = () => process.exit(1)
    killAll(everything.run, everything.variable).then(leave, leave)
  })
}

/** The pairs whose hand-over is measured. */
const successors: Readonly<Record<string, string>> = {
  claude: 'codex',
  codex: 'copilot',
  copilot: 'opencode',
  opencode: 'pi',
  pi: 'claude',
}

const chosen = catalogue.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
if (values.conformance) {
  let worse = 0
  for (const agent of chosen) {
    const bin = await install(agent, resolve(values.dir))
    const found = await compareConformance({ agent, bin, skein: resolve(values.skein) })
    worse += Object.keys(found).length
    console.log(`${agent.name}: fails only behind skein acp: ${JSON.stringify(found)}`)
  }
  process.exit(worse > 0 ? 1 : 0)
}
const results = openResults(values.dir)
for (const agent of chosen) {
  for (const way of values.way as Way[]) {
    const begun = performance.now()
    const row: Row = {
      agent,
      way,
      cells: await cellsOf(agent, way),
      day: new Date().toISOString().slice(0, 10),
    }
    results.keep(row)
    const seconds = ((performance.now() - begun) / 1000).toFixed(0)
    const seen = 'failed' in row.cells ? row.cells.failed : JSON.stringify(row.cells)
    console.error(`${agent.name}, ${way}: ${seen.slice(0, 1_000)} (${seconds} s)`)
  }
}
console.log(tableOf(results.rows()))
if (values.save) saveTable(results.rows())

/** The agent that continues the work of another one, with the same store. Null without our proxy. */
async function nextWorld(agent: RealAgent, way: Way, store: string): Promise<AgentWorld | null> {
  const next = catalogue.find(({ name }) => name === successors[agent.name])
  if (!next || way !== 'behind skein acp') return null
  const bin = await install(next, resolve(values.dir))
  return openWorld({ agent: next, bin, way, skein: resolve(values.skein), store })
}

async function cellsOf(agent: (typeof catalogue)[number], way: Way): Promise<Row['cells']> {
  try {
    const bin = await install(agent, resolve(values.dir))
    const world = { agent, bin, way, skein: resolve(values.skein) }
    if (way === 'in skein agent') {
      await using forHost = await openWorld(world)
      return await byHost(forHost)
    }
    await using forRestart = await openWorld(world)
    const between = await restart(forRestart)
    await using forCut = await openWorld(world)
    const cut = await cutOff(forCut)
    await using forOpen = await openWorld(world)
    const open = await reopened(forOpen)
    await using forWork = await openWorld(world)
    await using next = await nextWorld(agent, way, forWork.store)
    return { ...between, ...cut, ...open, ...(await handOver(forWork, next)) }
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) }
  }
}
