import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'

/** A place with little space. */
export interface SmallDisk {
  readonly file: string
  readonly store: Store
  /** Uses up all space. */
  fillUp(): void
  /** Makes enough space for everything. */
  free(): void
}

/** A file that may not grow: SQLite reports the same error as for a full disk, and no privileges are needed.
 */
export async function limitedFile(): Promise<SmallDisk> {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'))
  const file = join(folder, 'a.db')
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('foreign_keys = ON')
  const store = await sqliteStore(db)
  onTestFinished(() => {
    db.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const limit = (pages: number) => db.pragma(`max_page_count = ${pages}`)
  const used = () => db.pragma('page_count', { simple: true }) as number
  limit(used() + 60)
  return { file, store, fillUp: () => limit(used()), free: () => limit(1_000_000) }
}

/** Why no disk can be created here, or null. */
export function whyNoTmpfs(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'only root on Linux can mount a small disk'
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'))
  const tried = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { encoding: 'utf8' })
  if (tried.status === 0) execFileSync('umount', [folder])
  rmSync(folder, { recursive: true, force: true })
  return tried.status === 0 ? null : `a small disk cannot be mounted: ${tried.error ?? tried.stderr.trim()}`
}

/** A separate disk of four megabytes, which can be enlarged. */
export async function smallTmpfs(): Promise<SmallDisk> {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
  const file = join(folder, 'a.db')
  const store = await openSqliteStore(file)
  onTestFinished(async () => {
    await store.close()
    execFileSync('umount', [folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    file,
    store,
    fillUp: () => writeUntilFull(join(folder, 'ballast')),
    free: () => execFileSync('mount', ['-o', 'remount,size=64m', folder]),
  }
}

/** Appends to a file until there is no space for another byte. */
export function writeUntilFull(path: string): void {
  const handle = openSync(path, 'a')
  for (let size = 65_536; size > 0; ) {
    try {
      writeSync(handle, Buffer.alloc(size))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      size = Math.floor(size / 2)
    }
  }
  closeSync(handle)
}
