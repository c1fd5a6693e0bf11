import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBatteries } from './battery/batteries.ts'
import { figureRows } from './battery/figures.ts'
import { CommandError, endCommands, root, run } from './check/command.ts'

/** Runs the long form of tests, one file after the other, and ends with their figures. Without a name it
 *  lists the names. The gate runs the short form of the same files. */

const batteries = findBatteries(root)
const wanted = process.argv.slice(2)
if (wanted.length === 0) {
  const widest = Math.max(...batteries.map(({ name }) => name.length))
  for (const { name, proves } of batteries)
    console.log(`${name.padEnd(widest)}  ${proves.join(', ')}`.trimEnd())
  console.log('\nnpm run battery -- <name…> runs them, npm run battery -- all runs every one.')
  process.exit()
}

const unknown = wanted.filter(name => name !== 'all' && !batteries.some(one => one.name === name))
if (unknown.length > 0) {
  console.error(
    `battery: no battery ${unknown.join(', ')}; there are ${batteries.map(({ name }) => name).join(', ')}`,
  )
  process.exit(2)
}

const place = mkdtempSync(join(tmpdir(), 'skein-battery-'))
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    endCommands()
    process.exit(1)
  })
}

const notes = join(place, 'notes')
writeFileSync(notes, '')
const chosen = batteries.filter(({ name }) => wanted.includes('all') || wanted.includes(name))
const begun = new Date()
const load = loadavg()[0]!.toFixed(1)
try {
  // One after the other: a parallel battery would distort the figures.
  const args = ['run', '--no-file-parallelism', '--testTimeout=3600000', ...chosen.map(({ file }) => file)]
  const env = { ...process.env, SKEIN_BATTERY: 'full', SKEIN_BATTERY_NOTES: notes }
  await run('vitest', args, { env, output: 'shown', limitMs: 12 * 3_600_000 })
} catch (error) {
  if (!(error instanceof CommandError)) throw error
  process.exitCode = 1
}
console.log(`\n${begun.toISOString().slice(0, 10)}, npm run battery -- ${wanted.join(' ')}`)
console.log(
  `Node ${process.version}, ${cpus().length} cores, load ${load} before and ${loadavg()[0]!.toFixed(1)} after\n`,
)
console.log('| test | figures |\n|---|---|')
for (const row of figureRows(notes)) console.log(row)
