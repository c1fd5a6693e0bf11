import {
  constants,
  copyFileSync,
  existsSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { schemaLeaves, writeSchemaRoot } from './schema.ts'

const magic = 'SQLite format 3\0'
const pageSizes = [4_096, 8_192, 1_024, 2_048, 16_384, 32_768, 65_536, 512]

/** The first bytes of the four kinds of page that hold rows. */
const pageKinds = [2, 5, 10, 13]

/** Copies a damaged file, with its log if it has one, to where it may be changed, and there mends what would keep SQLite
 *  from opening it at all: the header, the length, the first page. Says what was mended. */
export function mendedCopy(damaged: string, to: string): readonly string[] {
  copyFileSync(damaged, to, constants.COPYFILE_FICLONE)
  const log = `${damaged}-wal`
  const hasLog = existsSync(log) && statSync(log).size > 0
  if (hasLog) copyFileSync(log, `${to}-wal`, constants.COPYFILE_FICLONE)
  const bytes = readFileSync(to)
  const mended: string[] = []
  const pageSize = pageSizeIn(bytes)
  const pages = Math.ceil(bytes.length / pageSize)
  const whole = bytes.length === pages * pageSize ? bytes : Buffer.concat([bytes], pages * pageSize)
  if (whole !== bytes) mended.push('the file ended within a page')
  if (!isHeader(whole)) {
    writeHeader(whole, pageSize, pages, hasLog)
    mended.push('the header was damaged')
  } else if (whole.readUInt32BE(28) > pages && !hasLog) {
    mended.push(`the file was cut off: ${pages} of ${whole.readUInt32BE(28)} pages are there`)
    whole.writeUInt32BE(pages, 28)
    whole.writeUInt32BE(whole.readUInt32BE(24), 92)
  }
  if (!pageKinds.includes(whole[100]!)) {
    const leaves = schemaLeaves(whole, pageSize)
    writeSchemaRoot(whole, pageSize, leaves)
    mended.push(`the first page was damaged; ${leaves.length} of the pages it leads to were found`)
  }
  if (mended.length > 0) writeFileSync(to, whole)
  truncateSync(to, whole.length)
  return mended
}

function isHeader(bytes: Buffer): boolean {
  return (
    bytes.toString('latin1', 0, 16) === magic &&
    pageSizes.includes(declaredPageSize(bytes)) &&
    bytes[18]! <= 2 &&
    bytes[19]! <= 2 &&
    bytes[20] === 0 &&
    bytes[21] === 64 &&
    bytes[22] === 32 &&
    bytes[23] === 32 &&
    bytes.readUInt32BE(44) === 4 &&
    bytes.readUInt32BE(52) === 0 &&
    bytes.readUInt32BE(56) === 1
  )
}

function declaredPageSize(bytes: Buffer): number {
  const size = bytes.length < 18 ? 0 : bytes.readUInt16BE(16)
  return size === 1 ? 65_536 : size
}

/** What the header says if it can be believed, otherwise the smallest size at whose multiples about as many pages begin as
 *  at any other's: at those of its own multiples they begin too. */
function pageSizeIn(bytes: Buffer): number {
  if (bytes.length >= 100 && isHeader(bytes)) return declaredPageSize(bytes)
  const shares = pageSizes.map(size => ({ size, share: shareOfPages(bytes, size) }))
  const most = Math.max(...shares.map(({ share }) => share))
  const likely = shares.filter(({ share }) => share >= most * 0.75).map(({ size }) => size)
  return likely.includes(4_096) ? 4_096 : Math.min(...likely)
}

function shareOfPages(bytes: Buffer, size: number): number {
  let [found, pages] = [0, 0]
  for (let at = size; at + size <= bytes.length && pages < 1_000; at += size, pages++) {
    const cells = bytes.readUInt16BE(at + 3)
    if (pageKinds.includes(bytes[at]!) && 8 + cells * 2 <= size && bytes.readUInt16BE(at + 5) <= size) found++
  }
  return pages === 0 ? 0 : found / pages
}

function writeHeader(bytes: Buffer, pageSize: number, pages: number, hasLog: boolean): void {
  bytes.fill(0, 0, 100)
  bytes.write(magic, 0, 'latin1')
  bytes.writeUInt16BE(pageSize === 65_536 ? 1 : pageSize, 16)
  bytes.fill(hasLog ? 2 : 1, 18, 20)
  bytes.set([64, 32, 32], 21)
  bytes.writeUInt32BE(1, 24)
  bytes.writeUInt32BE(pages, 28)
  bytes.writeUInt32BE(1, 40)
  bytes.writeUInt32BE(4, 44)
  bytes.writeUInt32BE(1, 56)
  bytes.writeUInt32BE(1, 92)
  bytes.writeUInt32BE(3_050_000, 96)
}
