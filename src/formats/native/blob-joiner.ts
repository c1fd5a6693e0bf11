import type { BlobRecord } from '../../core/record.ts'
import { largestBlob } from './format.ts'

/** A line of a blob, as parsed. */
export interface BlobLine {
  readonly hash: unknown
  readonly bytes: unknown
  readonly part?: unknown
  readonly parts?: unknown
  readonly text?: unknown
  readonly base64?: unknown
}

/** Joins the parts of a blob, which are in consecutive lines. */
export interface BlobJoiner {
  take(line: BlobLine): { readonly blob: BlobRecord | null; readonly fault: string | null }
  /** Called before any other line: reports an incomplete blob, or returns null. */
  end(): string | null
}

interface Unfinished {
  readonly hash: string
  readonly parts: number
  /** Room for the whole blob, so that its parts are not in memory twice. */
  readonly data: Buffer
  taken: number
  filled: number
}

export function blobJoiner(): BlobJoiner {
  let open: Unfinished | null = null

  return {
    take(line) {
      const read = readPart(line)
      if (typeof read === 'string') return { blob: null, fault: join(end(), read) }
      const { hash, bytes, part, parts, data } = read
      let fault: string | null = null
      if (!open || open.hash !== hash || open.parts !== parts || open.taken !== part) {
        fault = end()
        if (part > 0)
          return { blob: null, fault: join(fault, `blob ${hash}: the parts before this one are missing`) }
        open = { hash, parts, data: Buffer.allocUnsafeSlow(bytes), taken: 0, filled: 0 }
      }
      if (open.filled + data.length > bytes || open.data.length !== bytes) {
        open = null
        return { blob: null, fault: join(fault, `blob ${hash} has more bytes than it says`) }
      }
      open.data.set(data, open.filled)
      open.filled += data.length
      if (++open.taken < parts) return { blob: null, fault }
      const whole = open.data.subarray(0, open.filled)
      open = null
      return { blob: { kind: 'blob', hash, data: whole }, fault }
    },
    end,
  }

  function end(): string | null {
    if (!open) return null
    const { hash, taken, parts } = open
    open = null
    return `blob ${hash} is cut off: ${taken} of ${parts} parts are here`
  }
}

interface Part {
  readonly hash: string
  readonly bytes: number
  readonly part: number
  readonly parts: number
  readonly data: Uint8Array
}

function readPart(line: BlobLine): Part | string {
  const { hash, bytes, part = 0, parts = 1, text, base64 } = line
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash)) return 'a blob has no hash'
  if (!isCount(bytes, largestBlob)) return `blob ${hash} does not say how large it is, or is too large`
  if (!isCount(parts, largestBlob) || !isCount(part, parts - 1)) return `blob ${hash} has a part that is none`
  if (typeof text === 'string') return { hash, bytes, part, parts, data: Buffer.from(text) }
  if (typeof base64 === 'string') return { hash, bytes, part, parts, data: Buffer.from(base64, 'base64') }
  return `blob ${hash} has no content`
}

function isCount(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most
}

function join(first: string | null, second: string): string {
  return first === null ? second : `${first}; ${second}`
}
