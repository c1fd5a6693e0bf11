import type { Database } from 'better-sqlite3'
import type { IndexWork } from '../engine/engine.ts'
import { translate } from './errors.ts'
import { queries } from './queries/index.ts'
import { type RewriteStep, rewriteInChild } from './rewrite-in-child.ts'

/** Entries that FTS5 merges or deletes in about 20 ms. It divides neither the list of a word, which may have
 *  an entry for each message, nor the deletion of an index. */
const entriesInline = { tidy: 80_000, clear: 15_000 }

export interface ElsewhereOptions {
  readonly work: IndexWork
  /** Whether this process may end before the work is done. */
  readonly isIdle: boolean
  readonly signal: AbortSignal
}

/** Does work on a large search index in another process and waits for it. Returns whether it did. */
export async function indexElsewhere(
  db: Database,
  { work, isIdle, signal }: ElsewhereOptions,
): Promise<boolean> {
  if (db.memory || sizeOf(work, readLevels(db)) <= entriesInline[work]) return false
  try {
    return await rewriteInChild(db, stepsOf[work], signal, { isIdle })
  } catch (error) {
    // The index is complete without the merge, which is tried again after the next messages.
    if (work === 'tidy') return true
    throw translate(error, db.name)
  }
}

const stepsOf: Readonly<Record<IndexWork, readonly RewriteStep[]>> = {
  tidy: ['tidy'],
  clear: [{ run: [queries.clearSearch, queries.resetIndexed].flat() }],
}

function sizeOf(work: IndexWork, levels: readonly Level[]): number {
  return work === 'tidy' ? largestMerge(levels) : sum(levels.flatMap(({ entries }) => entries))
}

/** A level of the index: the entries of its segments, and how many of these are being merged. */
interface Level {
  readonly merging: number
  readonly entries: readonly number[]
}

/** The levels of an FTS5 index with `contentless_delete`, from its structure record. Of another version of
 *  FTS5: none. */
function readLevels(db: Database): readonly Level[] {
  const record = db.prepare('SELECT block FROM skein_search_data WHERE id = 10').pluck().get()
  if (!(record instanceof Uint8Array)) return []
  const next = readNumbers(record)
  // A cookie of four bytes, and a version.
  next.skip(4)
  if (next.four() !== 0xff000001) return []
  const count = next.varint()
  next.varint()
  next.varint()
  return Array.from({ length: count }, () => {
    const merging = next.varint()
    const segments = next.varint()
    const entries = Array.from({ length: segments }, () => {
      // Its number, first and last page, origins, and tombstones.
      for (let i = 0; i < 7; i++) next.varint()
      return next.varint()
    })
    return { merging, entries }
  })
}

/** Entries of the largest level that FTS5 merges or will merge: it waits for four segments. */
function largestMerge(levels: readonly Level[]): number {
  const due = levels.filter(({ merging, entries }) => merging > 0 || entries.length >= 4)
  return Math.max(0, ...due.map(({ entries }) => sum(entries)))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Reads SQLite's numbers: seven bits a byte, the most significant first. */
function readNumbers(bytes: Uint8Array) {
  let at = 0
  const byte = () => bytes[at++] ?? 0
  return {
    skip: (count: number) => {
      at += count
    },
    four: () => byte() * 2 ** 24 + byte() * 2 ** 16 + byte() * 2 ** 8 + byte(),
    varint: () => {
      let value = 0
      for (let i = 0; i < 8; i++) {
        const part = byte()
        value = value * 128 + (part & 127)
        if (part < 128) return value
      }
      return value * 256 + byte()
    },
  }
}
