import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import BetterSqlite3 from 'better-sqlite3'
import type { MessageId } from '../../src/core/ids.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurn } from '../workload.ts'

/** From a signal to the end of a command that works on a large store. The command has to be built. */

const bin = join(import.meta.dirname, '../../dist/cli/skein.cjs')
const messages = 40_000
/** Milliseconds after the start at which the signal is sent. */
const moments = [80, 150, 300, 600, 1_200]

/** The files that a command makes or changes. */
const changed = [
  ...['new.db', 'changed.db'].flatMap(name => [name, `${name}-wal`, `${name}-shm`]),
  ...['new.jsonl', 'new.html'],
]

export const stopSuite: Suite = {
  name: 'stop',
  when: 'byName',
  tasks: {},
  async run(bench) {
    const cwd = join(bench.place, 'stop')
    mkdirSync(cwd)
    const db = join(cwd, 'store.db')
    await fill(db)
    const exported = join(cwd, 'all.jsonl')
    const made = spawnSync(process.execPath, [bin, 'export', '--all', '--native', '-o', exported, '--db', db])
    if (made.status !== 0) throw new Error(`${made.stderr}. The command has to be built: npm run build`)
    const commands: Readonly<Record<string, readonly string[]>> = {
      copy: ['copy', db, join(cwd, 'new.db')],
      import: ['import', exported, '--db', join(cwd, 'new.db')],
      'export --native': ['export', '--all', '--native', '-o', join(cwd, 'new.jsonl'), '--db', db],
      'export --html': ['export', 'cli:long', '--html', '-o', join(cwd, 'new.html'), '--db', db],
      verify: ['verify', '--db', db],
      'search, which indexes first': ['search', 'error', '--db', join(cwd, 'changed.db')],
      backup: ['backup', join(cwd, 'new.db'), '--db', db],
      recover: ['recover', db, '-o', join(cwd, 'new.db')],
      stats: ['stats', '--db', db],
      show: ['show', 'cli:long', '--all', '--db', db],
      gc: ['gc', '--db', db],
      'gc --compact': ['gc', '--compact', '--db', join(cwd, 'changed.db')],
      rm: ['rm', '--all', '--yes', '--db', join(cwd, 'changed.db')],
      doctor: ['doctor', '--db', db],
      'ls --all': ['ls', '--all', '--limit', '1000', '--db', db],
      'tree --all': ['tree', '--all', '--db', db],
      'dispatch work': ['dispatch', 'work', '-m', 'scripted', '--db', db],
      'dispatch ls --watch': ['dispatch', 'ls', '--watch', '--db', db],
    }
    const lines: Line[] = []
    for (const [name, args] of Object.entries(commands)) {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        const took: number[] = []
        for (const ms of moments) {
          for (const file of changed) rmSync(join(cwd, file), { force: true })
          copyFileSync(db, join(cwd, 'changed.db'))
          const stopped = await stopAfter(args, cwd, signal, ms)
          if (stopped !== null) took.push(stopped)
        }
        const value = Math.max(0, ...took)
        const note = took.length > 0 ? 'the longest; the goal is in ms' : 'it had always ended before'
        lines.push({
          work: `${name}, from ${signal} to its end`,
          ours: time(value * 1_000),
          value,
          goal: 500,
          note,
        })
      }
    }
    return lines
  },
}

/** Milliseconds from the signal to the end of the command, or null if it had ended before. */
async function stopAfter(
  args: readonly string[],
  cwd: string,
  signal: 'SIGINT' | 'SIGTERM',
  ms: number,
): Promise<number | null> {
  const child = spawn(process.execPath, [bin, ...args], { cwd, stdio: 'ignore' })
  const ended = once(child, 'exit').then(() => performance.now())
  const early = await Promise.race([ended.then(() => true), pause(ms, false)])
  if (early) return null
  const sent = performance.now()
  child.kill(signal)
  return (await ended) - sent
}

/** Conversations of 4,000 messages, not indexed. */
async function fill(file: string): Promise<void> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db, { indexing: 'manual' })
  db.exec('BEGIN')
  for (let made = 0; made < messages; ) {
    const { branch } = await store.create({ ...(made === 0 && { key: 'cli:long' }), title: `${made}` })
    let head: MessageId | null = null
    for (const end = made + 4_000; made < end; made += 4) {
      const { key, messages: turn } = makeTurn(made)
      head = (await store.append(branch, head, turn, { turn: { key, step: 0 } })).head
    }
  }
  db.exec('COMMIT')
  db.close()
}
