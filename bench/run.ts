import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { useOneSqlite } from './peers/install.ts'
import { StoppedError } from './process.ts'
import { saveRun } from './save.ts'
import { type Line, rowSeconds, type Suite, scales, stops } from './suite.ts'
import { suites } from './suites.ts'
import { missedRows, table, verdictOf } from './table.ts'

const usage = `npm run bench -- [--quick] [--no-peers] [--rounds n] [--files folder] [--save] [suite …]
suites: ${suites.map(({ name, when }) => (when === 'byName' ? `${name}*` : name)).join(', ')}
        * only where it is named`

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    'no-peers': { type: 'boolean' },
    rounds: { type: 'string' },
    // Keeps the file of `block` there, and uses it again: filling it takes minutes.
    files: { type: 'string' },
    // Into the README.
    save: { type: 'boolean' },
    help: { type: 'boolean' },
  },
  allowPositionals: true,
})
if (values.help || positionals.some(name => !suites.some(suite => suite.name === name))) {
  console.log(usage)
  process.exit(values.help ? 0 : 2)
}

useOneSqlite()
const scale = scales[values.quick ? 'quick' : 'normal']
const place = mkdtempSync(join(tmpdir(), 'skein-bench-'))
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

if (values.files !== undefined) mkdirSync(values.files, { recursive: true })

function isWanted({ name, when }: Suite): boolean {
  if (positionals.length > 0) return positionals.includes(name)
  if (name === 'peers' && values['no-peers']) return false
  return when !== 'byName' && !(when === 'full' && values.quick)
}

const bench = {
  scale: { ...scale, ...(values.rounds && { rounds: Number(values.rounds) }) },
  place,
  files: values.files ?? place,
}
const started = performance.now()
const seconds = (since: number) => ((performance.now() - since) / 1_000).toFixed(0)
const loads = [loadavg()[0]!]
const lines: Line[] = []
for (const suite of suites.filter(isWanted)) {
  const begin = performance.now()
  try {
    lines.push(...(await suite.run(bench)))
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error
    lines.push({ work: suite.name, ours: `stopped after ${rowSeconds} s`, note: error.message })
  }
  loads.push(loadavg()[0]!)
  console.error(`${suite.name}: ${seconds(begin)} s`)
}

const missed = lines.filter(line => verdictOf(line) === 'missed').length
const about =
  `${missed} missed. Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ` +
  `load ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}, ` +
  `${new Date().toISOString().slice(0, 10)}, ${bench.scale.rounds} rounds, ${seconds(started)} s`
const reasons = missedRows(lines)
const printed = [
  table(lines),
  ...stops.map(stop => `\n${stop}.`),
  ...(reasons === '' ? [] : [`\n${reasons}`]),
  `\n${about}`,
].join('\n')
console.log(printed)
if (values.save) {
  const words = process.argv.slice(2).filter(word => word !== '--save')
  saveRun(['npm run bench', ...(words.length > 0 ? ['--', ...words] : [])].join(' '), printed)
}
