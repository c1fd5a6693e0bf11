/** The list of tables begins on the first page of a file. Where that page is lost, the pages it led to are looked for, and
 *  a new first page is made that leads to them. (File format: sqlite.org/fileformat2.html, 1.6 and 2.1.) */

export interface SchemaLeaf {
  /** From 1, as SQLite counts. */
  readonly page: number
  readonly firstRow: number
  readonly lastRow: number
}

const leafOfTable = 13
const innerOfTable = 5

/** The pages that hold rows of the list of tables, in the order of their rows. */
export function schemaLeaves(bytes: Buffer, pageSize: number): readonly SchemaLeaf[] {
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

/** The row of a cell, if its record is one of the list of tables: five columns, the first of them a kind of thing. */
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
  if (types.length !== 5) return null
  const length = (types[0]! - 13) / 2
  const kind = page.toString('latin1', next, next + length)
  return ['table', 'index', 'trigger', 'view'].includes(kind) ? row.value : null
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

/** Makes a first page that leads to these. */
export function writeSchemaRoot(bytes: Buffer, pageSize: number, leaves: readonly SchemaLeaf[]): void {
  const page = bytes.subarray(0, pageSize)
  page.fill(0, 100)
  const last = leaves.at(-1)
  if (!last) {
    // An empty list: the file opens, and holds nothing that can be found.
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
