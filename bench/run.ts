import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Line, scales } from './suite.ts'
import { suites } from './suites.ts'
import { table, verdictOf } from './table.ts'

const usage = `npm run bench -- [--quick] [--rounds n] [suite …]
suites: ${suites.map(({ name }) => name).join(', ')}`

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean' }, rounds: { type: 'string' }, help: { type: 'boolean' } },
  allowPositionals: true,
})
if (values.help || positionals.some(name => !suites.some(suite => suite.name === name))) {
  console.log(usage)
  process.exit(values.help ? 0 : 2)
}

const scale = scales[values.quick ? 'quick' : 'normal']
const place = mkdtempSync(join(tmpdir(), 'skein-bench-'))
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

const bench = { scale: { ...scale, ...(values.rounds && { rounds: Number(values.rounds) }) }, place }
const started = performance.now()
const lines: Line[] = []
for (const suite of suites) {
  if (positionals.length > 0 && !positionals.includes(suite.name)) continue
  const begin = performance.now()
  lines.push(...(await suite.run(bench)))
  console.error(`${suite.name}: ${((performance.now() - begin) / 1_000).toFixed(0)} s`)
}

console.log(table(lines))
const missed = lines.filter(line => verdictOf(line) === 'missed').length
console.log(
  `\n${missed} missed. Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ` +
    `${new Date().toISOString().slice(0, 10)}, ${bench.scale.rounds} rounds, ` +
    `${((performance.now() - started) / 1_000).toFixed(0)} s`,
)
