import {
  constants,
  copyFileSync,
  existsSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'

const magic = 'SQLite format 3\0'
const pageSizes = [4_096, 8_192, 1_024, 2_048, 16_384, 32_768, 65_536, 512]

/** The first bytes of the four kinds of b-tree pages. */
const pageKinds = [2, 5, 10, 13]

/** Copies a damaged file, with its log if there is one, and repairs the copy so that SQLite can open it:
 *  the header, the length, the first page. Returns what was repaired. */
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
  const damagedRows = mendSchemaRows(whole, pageSize)
  if (damagedRows > 0) mended.push(`the list of tables had damaged rows: ${damagedRows}`)
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

/** The page size from a valid header. Otherwise the smallest size with about as many page beginnings as any
 *  other: the multiples of a size have page beginnings too. */
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

/** The list of tables begins on the first page of a file. If that page is lost, the pages below it are
 *  searched, and a new first page is made that points to them. (File format: sqlite.org/fileformat2.html,
 *  1.6 and 2.1.) */

interface SchemaLeaf {
  /** Counted from 1, as SQLite does. */
  readonly page: number
  readonly firstRow: number
  readonly lastRow: number
}

const leafOfTable = 13
const innerOfTable = 5

/** The pages with rows of the list of tables, in order of their rows. */
function schemaLeaves(bytes: Buffer, pageSize: number): readonly SchemaLeaf[] {
  const leaves: SchemaLeaf[] = []
  for (let page = 2; page * pageSize <= bytes.length; page++) {
    const leaf = leafAt(bytes.subarray((page - 1) * pageSize, page * pageSize), page)
    if (leaf) leaves.push(leaf)
  }
  return leaves.sort((a, b) => a.firstRow - b.firstRow)
}

function leafAt(page: Buffer, number: number): SchemaLeaf | null {
  if (page[0] !== leafOfTable) return null
  const cells = page.readUInt16BE(3)
  if (cells === 0 || 8 + cells * 2 > page.length) return null
  const rows: number[] = []
  for (let i = 0; i < cells; i++) {
    const row = rowOfCell(page, page.readUInt16BE(8 + i * 2))
    if (row === null) return null
    rows.push(row)
  }
  return { page: number, firstRow: rows[0]!, lastRow: rows.at(-1)! }
}

/** Corrects the pages of the list of tables that point to a row that cannot be read, and returns the number
 *  of such rows: SQLite stops at the first one, and does not see the tables after it. Rows of the page to
 *  which nothing points are added. */
function mendSchemaRows(bytes: Buffer, pageSize: number): number {
  let damaged = 0
  for (let at = pageSize; at + pageSize <= bytes.length; at += pageSize) {
    const page = bytes.subarray(at, at + pageSize)
    const cells = page[0] === leafOfTable ? page.readUInt16BE(3) : 0
    if (8 + cells * 2 > page.length) continue
    const places = Array.from({ length: cells }, (_, i) => page.readUInt16BE(8 + i * 2))
    const readable = places.filter(place => rowOfCell(page, place) !== null)
    // A page of another table has none of them.
    if (readable.length === cells || readable.length < Math.max(2, cells / 2)) continue
    const byRow = new Map(readable.map(place => [rowOfCell(page, place)!, place]))
    for (let place = 8 + cells * 2; place < page.length; place++) {
      const row = rowOfCell(page, place)
      if (row !== null && !byRow.has(row) && byRow.size < cells) byRow.set(row, place)
    }
    const rows = [...byRow].toSorted(([a], [b]) => a - b)
    for (const [i, [, place]] of rows.entries()) page.writeUInt16BE(place, 8 + i * 2)
    page.writeUInt16BE(rows.length, 3)
    damaged += cells - readable.length
  }
  return damaged
}

/** The row id of a cell whose record belongs to the list of tables: five columns that fill it, the first one
 *  a kind of object. */
function rowOfCell(page: Buffer, at: number): number | null {
  if (at < 8 || at >= page.length - 12) return null
  const size = varint(page, at)
  const row = varint(page, size.next)
  const header = varint(page, row.next)
  const types: number[] = []
  let next = header.next
  while (next < row.next + header.value && types.length < 6) {
    const type = varint(page, next)
    types.push(type.value)
    next = type.next
  }
  const bytes = types.reduce((sum, type) => sum + bytesOf(type), header.value)
  if (types.length !== 5 || bytes !== size.value) return null
  const kind = page.toString('latin1', next, next + bytesOf(types[0]!))
  return ['table', 'index', 'trigger', 'view'].includes(kind) ? row.value : null
}

/** The size of a value by its type in the header of its record. */
function bytesOf(type: number): number {
  if (type >= 12) return Math.floor((type - 12) / 2)
  return [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type] ?? 0
}

function varint(bytes: Buffer, at: number): { value: number; next: number } {
  let value = 0
  for (let i = 0; i < 8; i++) {
    const byte = bytes[at + i] ?? 0
    value = value * 128 + (byte & 127)
    if (byte < 128) return { value, next: at + i + 1 }
  }
  return { value: value * 256 + (bytes[at + 8] ?? 0), next: at + 9 }
}

/** Writes a first page that points to these leaves. */
function writeSchemaRoot(bytes: Buffer, pageSize: number, leaves: readonly SchemaLeaf[]): void {
  const page = bytes.subarray(0, pageSize)
  page.fill(0, 100)
  const last = leaves.at(-1)
  if (!last) {
    // An empty list: the file can be opened, but nothing in it can be found.
    page.set([leafOfTable, 0, 0, 0, 0], 100)
    page.writeUInt16BE(pageSize & 0xffff, 105)
    return
  }
  const inner = leaves.slice(0, -1)
  let end = pageSize
  page[100] = innerOfTable
  page.writeUInt16BE(inner.length, 103)
  page.writeUInt32BE(last.page, 108)
  for (const [i, leaf] of inner.entries()) {
    const key = varintOf(leaf.lastRow)
    end -= 4 + key.length
    page.writeUInt32BE(leaf.page, end)
    page.set(key, end + 4)
    page.writeUInt16BE(end, 112 + i * 2)
  }
  page.writeUInt16BE(end & 0xffff, 105)
}

function varintOf(value: number): readonly number[] {
  const bytes = [value & 127]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift(128 | (rest & 127))
  return bytes
}
