import type { Database } from 'better-sqlite3'
import { sha256Hex } from '../../../core/hash.ts'
import { attempt, readDoubtful, rowKeys, type TableGap } from './readable-rows.ts'

/** The blobs of a damaged file by hash, independent of the index. */
export interface BlobShelf {
  isSound(hash: string): boolean
  read(hash: string): Uint8Array | undefined
}

/** Where the bytes of a blob are: the keys of its row, and of its parts by their numbers. */
interface BlobKeys {
  row: number | undefined
  readonly parts: Map<number, number>
}

export function blobShelf(db: Database, onGap: (gap: TableGap) => void): BlobShelf {
  const keys = new Map<string, BlobKeys>()
  const row = dataOf('skein_blobs')
  const part = dataOf('skein_blob_parts')
  for (const { key, hash } of rowsIn('skein_blobs', 'hash')) keysOf(hash).row = key
  for (const { key, hash, part: number } of rowsIn('skein_blob_parts', 'hash, part'))
    keysOf(hash).parts.set(number, key)
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

  /** The parts are also read if the row of the blob is lost. */
  function read(hash: string): Uint8Array | undefined {
    const found = keys.get(hash)
    if (!found) return undefined
    const data = found.row === undefined ? undefined : row(found.row)
    if (data?.length !== 0 && (data || found.parts.size === 0)) return data
    const parts: Uint8Array[] = []
    for (let number = 0; number < found.parts.size; number++) {
      const key = found.parts.get(number)
      const bytes = key === undefined ? undefined : part(key)
      if (!bytes) return undefined
      parts.push(bytes)
    }
    return Buffer.concat(parts)
  }

  function keysOf(hash: string): BlobKeys {
    const known = keys.get(hash) ?? { row: undefined, parts: new Map() }
    keys.set(hash, known)
    return known
  }

  function dataOf(table: string): (key: number) => Uint8Array | undefined {
    const statement = attempt(() => db.prepare(`SELECT data FROM ${table} WHERE rowid = ?`).pluck())
    return key => readDoubtful(db, () => statement?.get(key) as Uint8Array)
  }

  function rowsIn(table: string, columns: string): readonly ShelvedRow[] {
    const found = rowKeys(db, table, 'rowid', onGap)
    if (found.length === 0) return []
    const names = db.prepare(`SELECT rowid AS key, ${columns} FROM ${table} WHERE rowid = ?`)
    return found.flatMap(key => {
      const one = attempt(() => names.get(key) as ShelvedRow | undefined)
      return typeof one?.hash === 'string' ? [one] : []
    })
  }
}

interface ShelvedRow {
  readonly key: number
  readonly hash: string
  /** The number of a part. */
  readonly part: number
}
