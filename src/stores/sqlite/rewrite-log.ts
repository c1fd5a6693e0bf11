import { readSync, writeSync } from 'node:fs'

const headerBytes = 32
const frameHeaderBytes = 24
/** Bytes to read and write at once. */
const bufferBytes = 1_048_576

/** Writes a write-ahead log over itself, so that the next sync has all of it to write: after a failed sync,
 *  Linux takes the pages of a file for written. Returns the number of pages in it, up to the first one that
 *  is not as SQLite has written it. No other handle may write meanwhile. */
export function rewriteLog(descriptor: number): number {
  const header = read(descriptor, 0, headerBytes)
  if (header.length < headerBytes) return 0
  const frameBytes = frameHeaderBytes + header.readUInt32BE(8)
  const check = frameChecker(header)
  writeSync(descriptor, header, 0, headerBytes, 0)
  const framesAtOnce = Math.max(1, Math.floor(bufferBytes / frameBytes))
  for (let pages = 0; ; ) {
    const at = headerBytes + pages * frameBytes
    const bytes = read(descriptor, at, framesAtOnce * frameBytes)
    const count = Math.floor(bytes.length / frameBytes)
    let valid = 0
    while (valid < count && check(bytes.subarray(valid * frameBytes, (valid + 1) * frameBytes))) valid++
    if (valid > 0) writeSync(descriptor, bytes, 0, valid * frameBytes, at)
    pages += valid
    if (valid < framesAtOnce) return pages
  }
}

/** Returns a function that checks one frame after the other. A valid frame has the salts of the header, and a
 *  checksum over everything before it (https://sqlite.org/fileformat2.html#walformat). */
function frameChecker(header: Buffer): (frame: Buffer) => boolean {
  const isBigEndian = (header.readUInt32BE(0) & 1) === 1
  let sums = checksum(header.subarray(0, 24), [0, 0], isBigEndian)
  return frame => {
    if (!frame.subarray(8, 16).equals(header.subarray(16, 24))) return false
    sums = checksum(
      frame.subarray(frameHeaderBytes),
      checksum(frame.subarray(0, 8), sums, isBigEndian),
      isBigEndian,
    )
    return sums[0] === frame.readUInt32BE(16) && sums[1] === frame.readUInt32BE(20)
  }
}

type Sums = readonly [number, number]

function checksum(bytes: Buffer, [first, second]: Sums, isBigEndian: boolean): Sums {
  let [one, two] = [first, second]
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + (isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + two) >>> 0
    two = (two + (isBigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + one) >>> 0
  }
  return [one, two]
}

function read(descriptor: number, at: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  let length = 0
  for (let got = -1; length < bytes && got !== 0; length += got)
    got = readSync(descriptor, buffer, length, bytes - length, at + length)
  return buffer.subarray(0, length)
}
