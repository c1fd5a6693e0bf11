import type { Database } from 'better-sqlite3'
import { sha256Hex } from '../../../core/hash.ts'
import { attempt, rowKeys, type TableGap } from './readable-rows.ts'

/** The blobs of a damaged file by hash, independent of the index. */
export interface BlobShelf {
  isSound(hash: string): boolean
  read(hash: string): Uint8Array | undefined
}

export function blobShelf(db: Database, onGap: (gap: TableGap) => void): BlobShelf {
  const keys = new Map<string, number>()
  const found = rowKeys(db, 'skein_blobs', 'rowid', onGap)
  if (found.length === 0) return { isSound: () => false, read: () => undefined }
  const name = db.prepare('SELECT hash FROM skein_blobs WHERE rowid = ?').pluck()
  const data = db.prepare('SELECT data FROM skein_blobs WHERE rowid = ?').pluck()
  for (const key of found) {
    const hash = attempt(() => name.get(key))
    if (typeof hash === 'string') keys.set(hash, key)
  }
  const sound = new Map<string, boolean>()
  return { isSound, read }

  function isSound(hash: string): boolean {
    const known = sound.get(hash)
    if (known !== undefined) return known
    const bytes = read(hash)
    const isIt = bytes instanceof Uint8Array && sha256Hex(bytes) === hash
    sound.set(hash, isIt)
    return isIt
  }

  function read(hash: string): Uint8Array | undefined {
    const key = keys.get(hash)
    return key === undefined ? undefined : attempt(() => data.get(key) as Uint8Array)
  }
}
