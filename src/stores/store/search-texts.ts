import { matches } from '../../core/search/match.ts'
import type { SearchQuery } from '../../core/search/query.ts'
import type { Engine } from '../engine/engine.ts'
import type { CandidateRow } from '../engine/rows.ts'
import type { SearchAnswer } from '../programs/search/answers.ts'
import { blobBytesOf, readTexts, textsInRow } from '../programs/search/search-index.ts'
import type { Pace } from './pace.ts'

/** What a search needs to read texts and to decide by them. */
export interface TextSearch {
  readonly engine: Engine
  readonly query: SearchQuery
  readonly pace: Pace
}

/** How far one statement reads ahead for texts in blobs. In the process itself more would be a longer block,
 *  and may not be needed; over a network, each further statement is a round trip. */
const ahead = {
  here: { rows: 16, bytes: 1_048_576 },
  elsewhere: { rows: Number.POSITIVE_INFINITY, bytes: 4_194_304 },
}

/** Whether the texts of a message can be read later, with those of others that wait, in one statement. The
 *  others have `unread` bytes. In the process itself nothing waits: a statement takes microseconds. */
export function mayWait({ engine }: TextSearch, unread: number, row: CandidateRow): boolean {
  if (engine.rowsPerStatement !== null) return false
  const bytes = blobBytesOf(row)
  return bytes !== null && unread + bytes <= ahead.elsewhere.bytes
}

/** Reads the texts of the answers that have none, and returns those that match. */
export async function readWaiting(
  search: TextSearch,
  answers: readonly SearchAnswer[],
): Promise<SearchAnswer[]> {
  const rows = answers.filter(({ texts }) => texts === null).map(({ row }) => row)
  const texts = await search.engine.query(() => readTexts(rows))
  return decide(search, answers, new Map(rows.map((row, i) => [row, texts[i]!])))
}

/** The answers that match, given the texts of those that had none. */
export async function decide(
  { query, pace }: TextSearch,
  answers: readonly SearchAnswer[],
  read: ReadonlyMap<CandidateRow, readonly string[] | null>,
): Promise<SearchAnswer[]> {
  const found: SearchAnswer[] = []
  for (const answer of answers) {
    const { row, isSure } = answer
    const texts = answer.texts ?? read.get(row) ?? null
    if (texts === null) continue
    if (pace.isDue()) await pace.breathe()
    if (isSure || matches(texts, query)) found.push({ row, texts, isSure: true })
  }
  return found
}

/** Reads the texts of rows by their number, in ascending order. One statement reads those of the next rows
 *  too. */
export function textReader({ engine }: TextSearch, rows: readonly CandidateRow[]) {
  const most = engine.rowsPerStatement === null ? ahead.elsewhere : ahead.here
  const read = new Map<CandidateRow, readonly string[] | null>()
  return async (i: number): Promise<readonly string[] | null> => {
    const row = rows[i]!
    if (blobBytesOf(row) === null) return textsInRow(row)
    if (!read.has(row)) {
      read.clear()
      const next = withBlobs(rows.slice(i, i + most.rows), most.bytes)
      const texts = await engine.query(() => readTexts(next))
      for (const [k, one] of next.entries()) read.set(one, texts[k]!)
    }
    return read.get(row)!
  }
}

/** The rows with blobs: at least one, and together at most so many bytes. */
function withBlobs(rows: readonly CandidateRow[], most: number): readonly CandidateRow[] {
  const found: CandidateRow[] = []
  let bytes = 0
  for (const row of rows) {
    const more = blobBytesOf(row)
    if (more === null) continue
    bytes += more
    if (found.length > 0 && bytes > most) break
    found.push(row)
  }
  return found
}
