import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import type { BranchRef } from '../../src/core/branch.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
// Compiled here and not by the first call that loads them: from the sources that takes up to 150 ms, which a
// user, whose files are compiled, does not have.
import '../../src/stores/programs/records/write-records.ts'
import '../../src/stores/sqlite/blocking-work-thread.ts'
import '../../src/stores/sqlite/index-elsewhere.ts'
import '../../src/stores/sqlite/inspect.ts'
import '../../src/stores/sqlite/remove-traces.ts'
import '../../src/stores/store/follow-activity.ts'
import '../../src/stores/store/follow-conversation.ts'
import '../../src/stores/store/follow-hub.ts'
import '../../src/stores/store/follow-tasks.ts'
import '../../src/stores/store/index-search.ts'
import '../../src/stores/store/read-records.ts'
import '../../src/stores/store/verify.ts'
import { type Block, longestBlock, middleBlock } from '../longest-block.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { workId } from '../workload.ts'
import {
  type Calls,
  importedRecords,
  imports,
  messagesOf,
  others,
  parallel,
  parallelAppends,
  parallelReads,
  reads,
  searches,
  turnsAndTasks,
  writes,
} from './block-calls.ts'
import { type ForkArgs, fillForks, forkCalls } from './block-forks.ts'

/** How long each method of a store keeps the event loop from turning, in a store whose first conversation has
 *  a million messages. */

const tries = 3

interface FillArgs {
  readonly file: string
  readonly count: number
}

/** Turns of four messages of about 150 characters in one conversation, and many empty conversations. */
async function fill({ file, count }: FillArgs): Promise<null> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db)
  const { branch } = await store.create({ id: workId(0) as ConversationId, key: 'long', directory: '/work' })
  let head: MessageId | null = null
  for (let from = 0; from < count; from += 4) {
    if (from % 4_000 === 0) db.exec('BEGIN')
    const turn = {
      key: `turn-${from}`,
      step: 0,
      model: 'model-large-4',
      usage: { input: 12_000, output: 900 },
    }
    head = (await store.append(branch, head, messagesOf(from), { turn })).head
    if (from % 4_000 === 3_996) db.exec('COMMIT')
  }
  if (db.inTransaction) db.exec('COMMIT')
  db.exec('BEGIN')
  for (let i = 1; i <= parallel; i++) await store.create({ id: workId(i) as ConversationId })
  db.exec('COMMIT')
  await store.indexSearch()
  db.close()
  return null
}

/** The longest block of each call, and the methods that were called. */
interface Blocks {
  readonly found: Record<string, Block>
  readonly called: readonly string[]
  readonly methods: readonly string[]
}

async function blocks({ file }: FillArgs): Promise<Blocks> {
  const { store, called, methods } = noted(await openSqliteStore(file))
  const main = { conversationId: workId(0) as ConversationId, name: 'main' }
  const head = (await store.getBranch(main)).head!
  const found: Blocks['found'] = {}
  const batches = await Promise.all(Array.from({ length: tries }, importedRecords))
  const calls = {
    ...reads(store, main, head),
    ...searches(store),
    ...writes(store, main),
    ...turnsAndTasks(store),
    ...others(store, main, head),
    ...parallelAppends(store),
    ...parallelReads(store, head),
    ...imports(store, batches),
  }
  for (const [name, call] of Object.entries(calls)) found[name] = await middleBlock(tries, call)
  await store.close()
  return { found, called: [...called], methods }
}

async function forkBlocks({ file }: ForkArgs): Promise<Blocks['found']> {
  const store = await openSqliteStore(file)
  const found: Blocks['found'] = {}
  for (const [name, call] of Object.entries(forkCalls(store))) found[name] = await middleBlock(tries, call)
  await store.close()
  return found
}

async function upkeepBlocks({ file }: FillArgs): Promise<Blocks> {
  const { store, called, methods } = noted(await openSqliteStore(file))
  const main = { conversationId: workId(0) as ConversationId, name: 'main' }
  const found: Blocks['found'] = {}
  for (const [name, call] of Object.entries(upkeep(store, main))) found[name] = await longestBlock(call)
  found.close = await longestBlock(() => store.close())
  return { found, called: [...called], methods }
}

/** A store that notes which of its methods are called. */
function noted(store: Store): { store: Store; called: ReadonlySet<string>; methods: readonly string[] } {
  const called = new Set<string>()
  const watched = new Proxy(store, {
    get(target, name) {
      if (typeof name === 'string') called.add(name)
      return Reflect.get(target, name)
    },
  })
  const methods = Object.keys(store).filter(name => typeof store[name as keyof Store] === 'function')
  return { store: watched, called, methods }
}

/** Work on everything, once. */
function upkeep(store: Store, main: BranchRef): Calls {
  const { conversationId: id } = main
  return {
    readRecords: async () => {
      for await (const _ of store.readRecords(id)) void _
    },
    verify: () => store.verify(),
    sweep: () => store.sweep(),
    trash: () => store.trash(id),
    restore: () => store.restore(id),
    rebuildSearch: () => store.rebuildSearch(),
    'indexSearch, of everything': () => store.indexSearch(),
    compact: () => store.compact(),
    purge: async () => {
      await store.trash(id)
      await store.purge(id)
    },
  }
}

/** What is known of the rows that have been missed. */
function whyLong(name: string): string {
  if (name.includes('common words'))
    return 'FTS5 compares six lists of 200,000 entries to their end in one statement, 33 ns an entry.'
  if (name.includes('contexts'))
    return 'they return 155,000 messages, and a collection of garbage among them takes 12 to 19 ms.'
  return (
    'the note says how much of it was spent waiting for a processor that other work had, and how much the host ' +
    'of the machine took from all processors. The cause of the rest is not known.'
  )
}

function shownWait({ queuedMs, stolenMs }: Block): string {
  const queued = queuedMs === null ? '' : `; ${queuedMs.toFixed(1)} ms of it waiting for a processor`
  return stolenMs ? `${queued}; the host took ${stolenMs} ms from the processors` : queued
}

function linesOf(at: string, found: Blocks['found']): readonly Line[] {
  return Object.entries(found).map(([name, block]) => {
    const { ms } = block
    const isLarge = name.endsWith('10 MB')
    return {
      work: `longest block at ${at}: ${name}`,
      ours: time(ms * 1_000),
      ...(isLarge
        ? { note: `${(ms / 10).toFixed(1)} ms per MB` }
        : { value: ms, goal: 50, note: `the goal is in ms${shownWait(block)}`, why: whyLong(name) }),
    }
  })
}

/** Fills a file that is kept for later runs, unless it is there. */
async function fillOnce(kept: string, fill: (file: string) => Promise<unknown>): Promise<void> {
  if (existsSync(kept)) return
  const file = `${kept}-unfinished`
  await fill(file)
  renameSync(file, kept)
}

export const blockSuite: Suite = {
  name: 'block',
  when: 'byName',
  tasks: { fill, fillForks, blocks, forkBlocks, upkeepBlocks },
  async run(bench) {
    const count = bench.scale.searched
    const kept = join(bench.files, `block-${count}.db`)
    await fillOnce(kept, file => inFreshProcess({ suite: 'block', task: 'fill', args: { file, count } }))
    const args: FillArgs = { file: join(bench.place, 'block.db'), count }
    copyFileSync(kept, args.file)
    // Otherwise the first checkpoint waits for the whole copy.
    const copied = openSync(args.file, 'r+')
    fsyncSync(copied)
    closeSync(copied)
    const calls = await inFreshProcess<Blocks>({ suite: 'block', task: 'blocks', args })
    const whole = await inFreshProcess<Blocks>({ suite: 'block', task: 'upkeepBlocks', args })
    const called = new Set([...calls.called, ...whole.called])
    const missing = calls.methods.filter(name => !called.has(name))
    const forks = count / 10
    const forked = join(bench.files, `block-forks-${forks}.db`)
    await fillOnce(forked, file =>
      inFreshProcess({ suite: 'block', task: 'fillForks', args: { file, forks } }),
    )
    const shapes = await inFreshProcess<Blocks['found']>({
      suite: 'block',
      task: 'forkBlocks',
      args: { file: forked },
    })
    const lines = [
      ...linesOf(`${count.toLocaleString('en')} messages`, { ...calls.found, ...whole.found }),
      ...linesOf(`${forks.toLocaleString('en')} forks`, shapes),
    ]
    const rowless = {
      work: 'methods of a store without a row',
      ours: `${missing.length}`,
      note: missing.join(', '),
    }
    return [...lines, { ...rowless, value: missing.length, goal: 0 }]
  },
}
