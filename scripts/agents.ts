import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { killAll } from '../test/acp/agents/processes.ts'
import { catalogue } from './agents/catalogue.ts'
import { compareConformance } from './agents/conformance.ts'
import { install } from './agents/install.ts'
import { cellsOf, type Part, parts } from './agents/parts.ts'
import { openResults } from './agents/results.ts'
import { saveTable } from './agents/save.ts'
import { type Row, tableOf } from './agents/table.ts'
import { type Way, ways } from './agents/world.ts'
import { root } from './check/command.ts'

/** Installs other vendors' agents into a scratch folder and kills them, alone and behind our proxy: what do
 *  they still know, and what does an editor see? Names of agents, `--way` and `--part` select some of it.
 *  Needs the npm registry, and `npm run build` for the proxy; `--save` writes the table into docs/acp.md,
 *  with earlier results where nothing ran. `--mcp` is the part `mcp` alone: `skein mcp` as a tool of the
 *  agent. `--conformance` runs the published requirements of the protocol instead. */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dir: { type: 'string', default: join(root, 'node_modules/.cache/agents') },
    way: { type: 'string', multiple: true, default: [...ways] },
    skein: { type: 'string', default: join(root, 'dist/cli/skein.cjs') },
    save: { type: 'boolean', default: false },
    part: { type: 'string', multiple: true, default: [...parts] },
    mcp: { type: 'boolean', default: false },
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
const noPart = values.part.filter(part => !(parts as readonly string[]).includes(part))
if (noPart.length > 0) {
  console.error(`agents: no part ${noPart.join(', ')}; there are ${parts.join(', ')}`)
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
const place = { dir: resolve(values.dir), skein: resolve(values.skein) }
for (const agent of chosen) {
  for (const way of values.way as Way[]) {
    const begun = performance.now()
    const row: Row = {
      agent,
      way,
      cells: await cellsOf(agent, way, values.mcp ? ['mcp'] : (values.part as Part[]), place),
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
