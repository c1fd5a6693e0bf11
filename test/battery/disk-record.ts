import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Reads what `test/support/record-disk.c` has recorded, and makes the files that a power failure may leave.
 *
 *  A call is certain once a sync that began after it has succeeded. Any other call may have reached the disk
 *  or not, in any order, and a write also in part. A directory entry is certain after a sync of the
 *  directory. After a failed sync, the system takes the pages for written: a later sync does not make them
 *  certain. */

/** A recorded call, in the order of all processes. */
export type DiskCall =
  | { readonly kind: 'written'; readonly path: string; readonly at: number; readonly data: Buffer }
  | { readonly kind: 'truncated'; readonly path: string; readonly at: number }
  | { readonly kind: 'begun' | 'ended' | 'failed'; readonly path: string; readonly sync: bigint }
  /** A failure that another descriptor has reported before. */
  | { readonly kind: 'reported'; readonly path: string }
  | { readonly kind: 'removed'; readonly path: string }
  | { readonly kind: 'told'; readonly text: string }

const headerBytes = 24

/** The calls of a record, in order. */
export function* readCalls(record: Buffer): Generator<DiskCall> {
  for (let at = 0; at < record.length; ) {
    const [kind, pathBytes] = [record.readUInt32LE(at), record.readUInt32LE(at + 4)]
    const place = record.readBigUInt64LE(at + 8)
    const dataBytes = Number(record.readBigUInt64LE(at + 16))
    const from = at + headerBytes + pathBytes
    const path = record.toString('utf8', at + headerBytes, from)
    const data = record.subarray(from, from + dataBytes)
    yield callOf(kind, path, place, data)
    at = from + dataBytes
  }
}

function callOf(kind: number, path: string, place: bigint, data: Buffer): DiskCall {
  switch (kind) {
    case 1:
      return { kind: 'written', path, at: Number(place), data }
    case 2:
      return { kind: 'truncated', path, at: Number(place) }
    case 3:
      return { kind: 'begun', path, sync: place }
    case 4:
      return { kind: 'ended', path, sync: place }
    case 5:
      return { kind: 'failed', path, sync: place }
    case 6:
      return { kind: 'reported', path }
    case 7:
      return { kind: 'removed', path }
    case 8:
      return { kind: 'told', text: data.toString() }
    default:
      throw new Error(`a record of unknown kind ${kind}`)
  }
}

/** How much of what is not certain has reached the disk. */
export type Luck = 'none' | 'all' | 'some calls' | 'some sectors'

/** The disk after a part of the recorded calls. */
export interface Disk {
  /** The next call. */
  add(call: DiskCall): void
  /** Writes the files that a power failure at this moment may leave into an empty folder. */
  writeFiles(folder: string, luck: Luck, random: () => number): void
}

type FileCall = Extract<DiskCall, { kind: 'written' | 'truncated' }>

/** A call that no sync has confirmed. */
interface OpenCall {
  readonly call: FileCall
  readonly number: number
  /** Whether a sync of it has failed. */
  isGivenUp: boolean
}

/** A file, from its creation to its removal. */
interface DiskFile {
  certain: Buffer
  open: OpenCall[]
}

/** A change of a directory entry. `file` is null if it was removed. */
interface Entry {
  readonly path: string
  readonly file: DiskFile | null
  readonly number: number
}

/** A disk with the files of one folder. */
export function createDisk(root: string): Disk {
  const files = new Map<string, DiskFile>()
  const entries: Entry[] = []
  let certainEntries = 0
  const syncs = new Map<bigint, number>()
  let number = 0

  return { add, writeFiles }

  function add(call: DiskCall): void {
    number++
    switch (call.kind) {
      case 'told':
      case 'reported':
        return
      case 'written':
      case 'truncated':
        fileAt(call.path)?.open.push({ call, number, isGivenUp: false })
        return
      case 'begun':
        syncs.set(call.sync, number)
        return
      case 'ended':
        confirm(call.path, syncs.get(call.sync)!)
        return
      case 'failed':
        for (const open of files.get(call.path)?.open ?? [])
          if (open.number < syncs.get(call.sync)!) open.isGivenUp = true
        return
      case 'removed':
        if (!files.delete(call.path)) return
        entries.push({ path: call.path, file: null, number })
        return
      default:
        call satisfies never
    }
  }

  /** The file with this path, made if it is new. Undefined for the index of the log, which is memory, and for
   *  files that are open and removed. */
  function fileAt(path: string): DiskFile | undefined {
    if (path.endsWith('-shm') || path.endsWith(' (deleted)')) return undefined
    const known = files.get(path)
    if (known) return known
    const file: DiskFile = { certain: Buffer.alloc(0), open: [] }
    files.set(path, file)
    entries.push({ path, file, number })
    return file
  }

  function confirm(path: string, began: number): void {
    if (path === root) {
      while (certainEntries < entries.length && entries[certainEntries]!.number < began) certainEntries++
      return
    }
    const file = files.get(path)
    if (!file) return
    const confirmed = file.open.filter(one => one.number < began && !one.isGivenUp)
    for (const { call } of confirmed) file.certain = applied(file.certain, call)
    const isReplaced = ({ call, number }: OpenCall) =>
      confirmed.some(newer => newer.number > number && covers(newer.call, call))
    file.open = file.open.filter(one => !confirmed.includes(one) && !(one.isGivenUp && isReplaced(one)))
  }

  function writeFiles(folder: string, luck: Luck, random: () => number): void {
    mkdirSync(folder, { recursive: true })
    const left = new Map<string, DiskFile>()
    // A file system keeps the order of its entries.
    const share = luck === 'none' ? 0 : luck === 'all' ? 1 : random()
    const count = certainEntries + Math.round(share * (entries.length - certainEntries))
    for (const { path, file } of entries.slice(0, count)) {
      if (file) left.set(path, file)
      else left.delete(path)
    }
    for (const [path, { certain, open }] of left) {
      const calls = open.flatMap(({ call, isGivenUp }) =>
        arrived(call, isGivenUp ? 'some calls' : luck, random),
      )
      const copy = Buffer.alloc(certain.length)
      certain.copy(copy)
      writeFileSync(join(folder, relative(root, path)), calls.reduce(applied, copy))
    }
  }
}

const sectorBytes = 512

/** What has reached the disk of a call. */
function arrived(call: FileCall, luck: Luck, random: () => number): readonly FileCall[] {
  if (luck === 'all') return [call]
  if (luck === 'none') return []
  if (luck === 'some calls' || call.kind === 'truncated') return random() < 0.5 ? [call] : []
  const sectors: FileCall[] = []
  for (let from = 0; from < call.data.length; from += sectorBytes) {
    const data = call.data.subarray(from, from + sectorBytes)
    if (random() < 0.5) sectors.push({ ...call, at: call.at + from, data })
  }
  return sectors
}

/** The content of a file after a call. Changes `content`, and the memory after it: it must come from
 *  `Buffer.alloc`. */
function applied(content: Buffer, call: FileCall): Buffer {
  if (call.kind === 'truncated') return resized(content, call.at)
  const end = call.at + call.data.length
  const grown = end > content.length ? resized(content, end) : content
  call.data.copy(grown, call.at)
  return grown
}

function resized(content: Buffer, bytes: number): Buffer {
  if (bytes <= content.length) return content.subarray(0, bytes)
  // Most of the time there is room after it.
  const whole = Buffer.from(content.buffer, content.byteOffset)
  if (whole.length >= bytes) return whole.subarray(0, bytes).fill(0, content.length)
  const larger = Buffer.alloc(2 * bytes)
  content.copy(larger)
  return larger.subarray(0, bytes)
}

function covers(newer: FileCall, older: FileCall): boolean {
  if (newer.kind === 'truncated') return older.kind === 'truncated' || newer.at <= older.at
  if (older.kind === 'truncated') return false
  return newer.at <= older.at && older.at + older.data.length <= newer.at + newer.data.length
}
