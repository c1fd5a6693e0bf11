import type { Database } from 'better-sqlite3'

/** A range of a table that cannot be read. */
export interface TableGap {
  readonly table: string
  readonly reason: string
}

const page = 500

/** The keys of a table's rows in order, without unreadable ranges. Each row is read separately
 *  afterwards. */
export function rowKeys(
  db: Database,
  table: string,
  key: string,
  onGap: (gap: TableGap) => void,
): readonly number[] {
  const keys = new Set<number>()
  let read: (after: number, limit: number) => readonly number[]
  try {
    const statement = db
      .prepare(`SELECT ${key} FROM ${table} NOT INDEXED WHERE ${key} > ? ORDER BY ${key} LIMIT ?`)
      .pluck()
    read = (after, limit) => rising(statement.all(after, limit) as number[], after)
  } catch (error) {
    onGap({ table, reason: (error as Error).message })
    return []
  }
  // Scans the leaves first: without lookups, a damaged key cannot lead to a wrong page.
  if (!scan('ASC')) {
    scan('DESC')
    search()
  }
  return [...keys].sort((a, b) => a - b)

  /** Reads rows in storage order from one end. Returns false if it breaks off. */
  function scan(order: 'ASC' | 'DESC'): boolean {
    try {
      const all = db.prepare(`SELECT ${key} FROM ${table} NOT INDEXED ORDER BY ${key} ${order}`).pluck()
      for (const one of all.iterate()) keys.add(one as number)
      return true
    } catch {
      return false
    }
  }

  /** Searches for rows between unreadable ranges. */
  function search(): void {
    for (let after = Number.MIN_SAFE_INTEGER; ; ) {
      const found = attempt(() => read(after, page)) ?? oneByOne(after)
      for (const one of found) keys.add(one)
      if (found.length > 0) after = found.at(-1)!
      if (found.length === page) continue
      const next = attempt(() => read(after, 1))
      if (next?.length === 0) return
      if (next) continue
      onGap({ table, reason: `rows behind ${Math.max(after, 0)} cannot be read` })
      const beyond = firstBehind(after)
      if (beyond === null) return
      keys.add(beyond)
      after = beyond
    }
  }

  /** Reads one row at a time, up to the unreadable one. */
  function oneByOne(after: number): readonly number[] {
    const found: number[] = []
    while (found.length < page) {
      const [next] = attempt(() => read(found.at(-1) ?? after, 1)) ?? []
      if (next === undefined) break
      found.push(next)
    }
    return found
  }

  /** The first row after an unreadable range: doubles the distance, then searches back to the edge. */
  function firstBehind(after: number): number | null {
    let step = 1
    let lost = Math.max(after, 0)
    for (; ; step *= 2) {
      if (step > 2 ** 50) return null
      const found = attempt(() => read(lost + step, 1))
      if (found) break
    }
    let [bad, good] = [lost + step / 2, lost + step]
    if (step === 1) bad = lost
    while (good - bad > 1) {
      const middle = Math.floor((bad + good) / 2)
      if (attempt(() => read(middle, 1))) good = middle
      else bad = middle
    }
    lost = good
    return attempt(() => read(lost, 1))?.[0] ?? null
  }
}

/** The keys up to the first one that does not rise. SQLite assumes that rows are in order. With a damaged,
 *  small key, reading the rows after it would loop forever. */
function rising(keys: readonly number[], after: number): readonly number[] {
  const wrong = keys.findIndex((key, i) => key <= (keys[i - 1] ?? after))
  if (wrong === 0) throw new Error('its rows are not in order')
  return wrong < 0 ? keys : keys.slice(0, wrong)
}

/** The rows of a statement in order, and from the other end if it breaks off. */
export function rowsFromBothEnds<T>(
  db: Database,
  sql: string,
  order: readonly string[],
  params: readonly unknown[],
): { readonly rows: readonly T[]; readonly isWhole: boolean } {
  const rows: T[] = []
  const ascending = take(`${sql} ORDER BY ${order.join(', ')}`)
  rows.push(...ascending.rows)
  if (ascending.isWhole) return { rows, isWhole: true }
  const descending = take(`${sql} ORDER BY ${order.map(column => `${column} DESC`).join(', ')}`)
  const seen = new Set(rows.map(row => JSON.stringify(row)))
  rows.push(...descending.rows.reverse().filter(row => !seen.has(JSON.stringify(row))))
  return { rows, isWhole: false }

  function take(text: string): { rows: T[]; isWhole: boolean } {
    const taken: T[] = []
    try {
      for (const row of db.prepare(text).iterate(...params)) taken.push(row as T)
      return { rows: taken, isWhole: true }
    } catch {
      return { rows: taken, isWhole: false }
    }
  }
}

/** Reads one row, also from a page whose cells seem to overlap: then `onDoubt` is called, and the content may
 *  be wrong. Without `onDoubt`, the caller checks the content by its hash. */
export function readDoubtful<T>(
  db: Database,
  read: () => T,
  onDoubt: () => void = () => undefined,
): T | undefined {
  const found = attempt(read)
  if (found !== undefined) return found
  onDoubt()
  db.pragma('cell_size_check = OFF')
  try {
    return attempt(read)
  } finally {
    db.pragma('cell_size_check = ON')
  }
}

/** The result, or undefined if it cannot be read. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
