import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { byHost } from './agents/by-host.ts'
import { catalogue } from './agents/catalogue.ts'
import { cutOff } from './agents/cut-off.ts'
import { install } from './agents/install.ts'
import { restart } from './agents/restart.ts'
import { saveTable } from './agents/save.ts'
import { type Row, tableOf } from './agents/table.ts'
import { openWorld, type Way, ways } from './agents/world.ts'
import { root } from './check/command.ts'

/** Installs agents of other people into a scratch place and kills them, alone and behind our proxy: what do they still know, and
 *  what does an editor see? Needs the npm registry, and for the proxy `npm run build`. */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dir: { type: 'string', default: join(root, 'node_modules/.cache/agents') },
    way: { type: 'string', multiple: true, default: [...ways] },
    save: { type: 'boolean', default: false },
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

const chosen = catalogue.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const rows: Row[] = []
for (const agent of chosen) {
  for (const way of values.way as Way[]) {
    const begun = performance.now()
    rows.push({ agent, way, cells: await cellsOf(agent, way) })
    const seconds = ((performance.now() - begun) / 1000).toFixed(0)
    console.error(`${agent.name}, ${way}: ${JSON.stringify(rows.at(-1)!.cells)} (${seconds} s)`)
  }
}
const table = tableOf(rows)
console.log(table)
if (values.save) saveTable(`npm run agents${positionals.map(name => ` ${name}`).join('')}`, table)

async function cellsOf(agent: (typeof catalogue)[number], way: Way): Promise<Row['cells']> {
  try {
    const bin = await install(agent, resolve(values.dir))
    if (way === 'in skein agent') {
      await using world = await openWorld(agent, bin, way)
      return await byHost(world)
    }
    await using forRestart = await openWorld(agent, bin, way)
    const between = await restart(forRestart)
    await using forCut = await openWorld(agent, bin, way)
    return { ...between, ...(await cutOff(forCut)) }
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) }
  }
}
