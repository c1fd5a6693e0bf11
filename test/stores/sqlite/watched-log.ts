import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach } from 'vitest'
import type { Store } from '../../../src/core/ports.ts'
import { type Program, run } from '../../../src/stores/engine/engine.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { handleSettings } from '../../../src/stores/sqlite/handle-settings.ts'
import type { LogFile } from '../../../src/stores/sqlite/log-sync.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { systemSource } from '../../../src/system/source.ts'

/** A real log whose syncs are noted, and can be delayed or fail. */
export class WatchedLog implements LogFile {
  readonly events: string[] = []
  /** Milliseconds. Stands still unless a test advances it. */
  time = 0
  /** Whether each sync takes so long that the next one is not made at once. */
  isSlow = false
  /** Called before a sync, which fails if it throws. */
  before: () => void = () => undefined
  /** While it is set, syncs in the thread pool wait for it. */
  gate: Promise<void> | null = null

  open(path: string): number {
    this.events.push('open')
    return openSync(path, 'r+')
  }

  syncAtOnce(descriptor: number): void {
    this.before()
    if (this.isSlow) this.time += 2
    fdatasyncSync(descriptor)
    this.events.push('sync')
  }

  async sync(descriptor: number): Promise<void> {
    this.events.push('begin')
    this.before()
    if (this.isSlow) this.time += 2
    await this.gate
    fdatasyncSync(descriptor)
    this.events.push('end')
  }

  close(descriptor: number): void {
    this.events.push('close')
    closeSync(descriptor)
  }

  failNext(): void {
    this.before = () => {
      this.before = () => undefined
      failing()
    }
  }

  /** The events since the last call. */
  take(): readonly string[] {
    return this.events.splice(0)
  }
}

/** Throws the error of a disk that cannot sync. */
export function failing(): never {
  throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', syscall: 'fdatasync' })
}

/** A store of which everything can be reached. */
export interface OpenedStore {
  readonly db: Database
  readonly engine: ReturnType<typeof sqliteEngine>
  readonly store: Store
  readonly log: WatchedLog
}

/** The file of a test, made anew for each. */
export interface TestFile {
  path(): string
  /** Opens a store with a watched log. */
  open(settings?: string): Promise<OpenedStore>
  /** Another handle, as another process would have it. */
  secondHandle(): Database
}

/** To be called once in a test file. Closes what was opened when a test has ended. */
export function testFile(): TestFile {
  let folder: string
  let path: string
  const opened: { close(): unknown }[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'log-sync-'))
    path = join(folder, 'conversations.db')
  })
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    path: () => path,
    async open(settings = handleSettings('FULL')) {
      const db = new BetterSqlite3(path, { timeout: 0 })
      db.exec(settings)
      await migrateFile(db)
      const log = new WatchedLog()
      const clock = () => log.time
      const engine = sqliteEngine(db, { source: systemSource, owned: true, clock, logFile: log })
      opened.push(engine)
      return { db, engine, log, store: storeOver(engine, async () => 1) }
    },
    secondHandle() {
      const other = new BetterSqlite3(path, { timeout: 0 })
      opened.push(other)
      return other
    },
  }
}

/** A write that stores a name. */
export function* put(name: string): Program<string> {
  yield* run('putState', { name, value: 1 })
  return name
}

/** Lets the event loop turn. */
export const turn = () => new Promise(resolve => setImmediate(resolve))
