import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { builtCommand } from '../cli/built-command.ts'
import { strangeEnvironment } from '../support/place.ts'
import { note } from './note.ts'
import { size } from './size.ts'

/** Export and import of a long conversation need as much memory as of a short one. */
const messages = size({ gate: 5_000, full: 200_000 })
const blobMegabytes = size({ gate: 10, full: 100 })
const timeout = size({ gate: 120_000, full: 1_800_000 })

/** The memory that a command may use beyond that for a nearly empty store. It reads and writes a few
 *  megabytes at a time; the rest is the database's cache, and memory that V8 has not yet returned. */
const mostGrowth = 100_000_000

/** A heap that could not hold the file: by default, V8 delays garbage collection as long as there is room. */
const heap = ['--max-old-space-size=64', '--max-semi-space-size=8']

let folder: string
let small: Awaited<ReturnType<typeof move>>
const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memory-'))
  await fill('small.db', 10)
  await fill('long.db', messages)
  await using large = await openSqliteStore(join(folder, 'large.db'), { durability: 'normal' })
  const { branch } = await large.create()
  const text = '0123456789abcdef'.repeat((blobMegabytes * 1e6) / 16)
  await large.append(branch, null, [{ role: 'user', content: text }])
  small = await move('small')
}, timeout)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function fill(name: string, count: number, times = 1): Promise<void> {
  await using store = await openSqliteStore(join(folder, name), { durability: 'normal' })
  const { branch } = await store.create({ title: 'Long' })
  let head: MessageId | null = null
  for (let done = 0; done < count; done += 500) {
    const some = Array.from({ length: Math.min(500, count - done) }, (_, i): NewMessage => {
      const blocks = `message ${done + i}: ${'words and words '.repeat(times * (1 + ((done + i) % 40)))}`
      return { role: i % 2 === 0 ? 'user' : 'assistant', content: blocks }
    })
    head = (await store.append(branch, head, some)).head
  }
}

/** A name for the notes, and the words of the command. */
type CommandRun = readonly [name: string, ...args: string[]]

/** How many messages are read by the commands that print a conversation. */
const shownMessages = size({ gate: 50_000, full: 1_000_000 })

it('prints a long conversation with as much memory as a short one', { timeout }, async () => {
  // In both forms the texts alone are larger than the heap.
  await fill('shown.db', shownMessages, size({ gate: 6, full: 1 }))
  note('messages', shownMessages)
  const commands: readonly CommandRun[] = [
    ['show', 'show'],
    ['show --json', 'show', '--json'],
    ['show --path', 'show', '--path'],
    ['export', 'export'],
    ...size<readonly CommandRun[]>({ gate: [], full: [['export --html', 'export', '--html']] }),
  ]
  for (const [name, ...args] of commands) {
    const one = await skein('--db', 'small.db', ...args, await onlyId('small.db'))
    const long = await skein('--db', 'shown.db', ...args, await onlyId('shown.db'))
    note(`${name} grows by`, mb(long.peak - one.peak))
    note(`${name}, messages a second`, shownMessages / (long.ms / 1_000))
    expect(long.peak - one.peak, name).toBeLessThan(mostGrowth)
  }
})

async function onlyId(name: string): Promise<string> {
  await using store = await openSqliteStore(join(folder, name))
  return (await store.listConversations()).items[0]!.id
}

/** Runs the command, and returns its peak memory and its duration. */
async function skein(...args: string[]): Promise<{ peak: number; ms: number }> {
  const peakFile = join(folder, 'peak')
  const peak = join(import.meta.dirname, 'peak.ts')
  const env = { ...strangeEnvironment(folder, process.env), PEAK_FILE: peakFile }
  const began = performance.now()
  const child = spawn(process.execPath, [...heap, '--import', peak, builtCommand(), ...args], {
    cwd: folder,
    env,
    stdio: 'pipe',
  })
  let stderr = ''
  child.stdout.resume()
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  expect(code, stderr).toBe(0)
  return { peak: Number(readFileSync(peakFile, 'utf8')), ms: performance.now() - began }
}

/** Exports and imports a store, and returns the memory beyond the baseline. */
async function move(name: string) {
  const out = await skein('--db', `${name}.db`, 'export', '--all', '-o', `${name}.jsonl`)
  const back = await skein('--db', `${name}-copy.db`, 'import', `${name}.jsonl`)
  return { out, back, bytes: statSync(join(folder, `${name}.jsonl`)).size }
}

it('exports and imports a long conversation with as much memory as a short one', {
  timeout,
}, async () => {
  const long = await move('long')
  const growth = { export: long.out.peak - small.out.peak, import: long.back.peak - small.back.peak }
  note('messages', messages)
  note('file', mb(long.bytes))
  note('export grows by', mb(growth.export))
  note('import grows by', mb(growth.import))
  note('imported a second', messages / (long.back.ms / 1_000))
  expect(growth.export).toBeLessThan(mostGrowth)
  expect(growth.import).toBeLessThan(mostGrowth)
})

/** The blob itself, and a few of its parts (decision 82). An import has some of them in a thread too. One
 *  more copy of the blob exceeds the limits. */
it('needs little more than the size of a large part to export and to import it', { timeout }, async () => {
  const large = await move('large')
  const growth = { export: large.out.peak - small.out.peak, import: large.back.peak - small.back.peak }
  const most = size({
    gate: { export: mostGrowth, import: mostGrowth },
    full: { export: 150_000_000, import: 250_000_000 },
  })
  note('large part', `${blobMegabytes} MB`)
  note('export grows by', mb(growth.export))
  note('import grows by', mb(growth.import))
  expect(growth.export).toBeLessThan(most.export)
  expect(growth.import).toBeLessThan(most.import)
})
