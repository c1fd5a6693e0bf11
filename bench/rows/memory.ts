import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { Line, Suite } from '../suite.ts'

/** The most memory that a command has had. The command has to be built. */

const bin = join(import.meta.dirname, '../../dist/cli/skein.cjs')
const conversations = 100_000
const blobBytes = 100_000_000

/** Writes the peak of the process that loads it. JavaScript: loading TypeScript would take memory itself. */
const peakScript = `
const { readFileSync, writeFileSync } = require('node:fs')
process.on('exit', () => {
  const [, kilobytes] = /^VmHWM:\\s*(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))
  writeFileSync(process.env.PEAK_FILE, kilobytes)
})`

export const memorySuite: Suite = {
  name: 'memory',
  when: 'byName',
  tasks: {},
  async run(bench) {
    if (process.platform !== 'linux') return [{ work: 'peak memory of a command', ours: 'only on Linux' }]
    const cwd = join(bench.place, 'memory')
    mkdirSync(cwd)
    const [script, peakFile] = [join(cwd, 'peak.cjs'), join(cwd, 'peak')]
    writeFileSync(script, peakScript)
    const peakOf = (...args: readonly string[]) => {
      const env = { ...process.env, PEAK_FILE: peakFile }
      const done = spawnSync(process.execPath, ['--require', script, bin, ...args], {
        cwd,
        env,
        maxBuffer: 1e9,
      })
      if (done.status !== 0) throw new Error(`${done.stderr}. The command has to be built: npm run build`)
      return Number(readFileSync(peakFile, 'utf8')) * 1_024
    }
    await fillExpired(join(cwd, 'expired.db'))
    const lines: Line[] = []
    for (const args of [['--dry-run'], ['--dry-run', '--json']]) {
      const value = peakOf('gc', ...args, '--db', 'expired.db') / 1e6
      const work = `gc ${args.join(' ')}, ${conversations.toLocaleString('en')} expired conversations`
      lines.push({ work, ours: `${value.toFixed(0)} MB`, value, goal: 80, note: 'the goal is in MB' })
    }
    rmSync(join(cwd, 'expired.db'))
    await fillMessage(join(cwd, 'small.db'), 100)
    await fillMessage(join(cwd, 'large.db'), blobBytes)
    const moves = {
      export: (name: string) => ['export', '--all', '--native', '-o', `${name}.jsonl`, '--db', `${name}.db`],
      import: (name: string) => ['import', `${name}.jsonl`, '--db', `${name}-copy.db`],
    }
    const goals = { export: 150, import: 250 }
    for (const move of ['export', 'import'] as const) {
      const small = peakOf(...moves[move]('small'))
      const value = (peakOf(...moves[move]('large')) - small) / 1e6
      lines.push({
        work: `${move} of a blob of 100 MB, beyond that of a small message`,
        floor: `${(small / 1e6).toFixed(0)} MB`,
        ours: `+${value.toFixed(0)} MB`,
        value,
        goal: goals[move],
        note: 'the goal is in MB',
      })
    }
    return lines
  },
}

/** Conversations of a task that have expired, of two messages each. */
async function fillExpired(file: string): Promise<void> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db, { indexing: 'manual' })
  db.exec('BEGIN')
  for (let i = 0; i < conversations; i++) {
    const { branch } = await store.create({ title: `Task ${i}`, task: `t${i}`, expiresAt: new Date(1) })
    await store.append(branch, null, [
      { role: 'user', content: `do ${i}` },
      { role: 'assistant', content: 'done' },
    ])
  }
  db.exec('COMMIT')
  db.close()
}

async function fillMessage(file: string, bytes: number): Promise<void> {
  await using store = await openSqliteStore(file, { durability: 'normal' })
  const { branch } = await store.create()
  const content = '0123456789abcdef'.repeat(bytes / 16)
  await store.append(branch, null, [{ role: 'user', content }])
}
