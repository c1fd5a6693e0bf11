import { errorText } from '../../../core/error-text.ts'
import { all, type Program } from '../../engine/engine.ts'
import type { Conv } from '../../engine/rows.ts'
import type {
  RawConversationRow,
  RawMessageRow,
  RawPositionRow,
  VerifyStatements,
} from '../../engine/statements-verify.ts'
import { checkBlobRefs } from './blobs.ts'
import { walkCalls } from './calls.ts'
import { type FindingList, isDamage, subjectOf } from './findings.ts'
import { checkErasure, checkPlace, checkWords, hasColumnTypes, type ParentFacts } from './message.ts'
import { walkTurns } from './turns.ts'

/** Messages to read at a time. */
const pageSize = 200

/** The counts of a walk over all messages of a conversation. */
export interface WalkResult {
  readonly messages: number
  readonly erased: number
  readonly tokens: number
}

export interface WalkOptions {
  /** Only messages above this seq, and no checks that need the others. -1 for all. */
  readonly above: number
  readonly onPage: (messages: number) => void
}

/** Walks the messages of a conversation in order of seq, page by page, and checks each against its
 *  parent. */
export function* walkMessages(
  conversation: RawConversationRow,
  findings: FindingList,
  { above: start, onPage }: WalkOptions,
): Program<WalkResult> {
  const { conv, purging } = conversation
  const isAll = start < 0
  const gaps = walkGaps(conversation, findings)
  const turns = walkTurns(conversation, findings)
  const calls = walkCalls(findings)
  // Only of messages whose own id is wrong: their children may refer to the correct one.
  const trueIds = new Map<number, string>()
  let [messages, erased, tokens, above] = [0, 0, 0, start]
  let before: RawMessageRow | null = null
  for (;;) {
    const page: PageOfMessages = yield* readPage(conv, above)
    const parents = yield* parentsOf(conv, page.rows, before)
    for (const { seq, reason } of page.holes) findings.add('damage', `it cannot be read: ${reason}`, { seq })
    for (const row of page.rows) {
      above = Math.max(above, row.found_at)
      messages++
      if (!hasColumnTypes(row) || row.mine !== 1 || row.seq !== row.found_at) {
        findings.add('damage', 'its record is torn, or belongs elsewhere', { seq: row.found_at })
        continue
      }
      if (isAll && purging !== 1) yield* gaps.at(row)
      const parent = row.parent_seq < 0 ? null : parents.get(row.parent_seq)
      if (parent === undefined) complainOfParent(row, findings, purging === 1)
      else {
        const id = checkWords(row, parent?.id ?? conversation.id, trueIds.get(row.parent_seq), findings)
        if (id !== undefined && trueIds.size < 10_000) trueIds.set(row.seq, id)
        checkPlace(row, parent, findings)
      }
      checkErasure(row, findings)
      if (isAll) calls.at(row, yield* turns.at(row))
      if (row.body === null) erased++
      tokens += row.tokens
      parents.set(row.seq, row)
      before = row
    }
    yield* checkBlobRefs(conv, page.rows, findings)
    onPage(messages)
    above = Math.max(above, ...page.holes.map(({ seq }) => seq))
    if (page.isLast) break
  }
  if (isAll) {
    if (purging !== 1) yield* gaps.end()
    yield* turns.end()
    calls.end()
  }
  return { messages, erased, tokens }
}

interface PageOfMessages {
  readonly rows: readonly RawMessageRow[]
  readonly holes: readonly { readonly seq: number; readonly reason: string }[]
  readonly isLast: boolean
}

/** The next messages. If some cannot be read, the others are read one by one, in the order of an index. */
function* readPage(conv: Conv, above: number): Program<PageOfMessages> {
  try {
    const rows = yield* all('rawMessages', { conv, above, limit: pageSize })
    return { rows, holes: [], isLast: rows.length < pageSize }
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  const seqs = yield* all('rawSeqs', { conv, above, limit: pageSize })
  const rows: RawMessageRow[] = []
  const holes: { seq: number; reason: string }[] = []
  for (const { seq } of seqs) {
    try {
      const [row] = yield* all('rawMessages', { conv, above: seq - 1, limit: 1 })
      if (row?.found_at === seq) rows.push(row)
      else holes.push({ seq, reason: 'the index leads nowhere' })
    } catch (error) {
      if (!isDamage(error)) throw error
      holes.push({ seq, reason: errorText(error) })
    }
  }
  return { rows, holes, isLast: seqs.length < pageSize }
}

/** The parents of a page's messages that are not in the page. */
function* parentsOf(
  conv: Conv,
  rows: readonly RawMessageRow[],
  before: RawMessageRow | null,
): Program<Map<number, ParentFacts>> {
  const parents = new Map<number, ParentFacts>()
  if (before) parents.set(before.seq, before)
  const own = new Set(rows.map(({ seq }) => seq))
  const wanted = [...new Set(rows.map(({ parent_seq }) => parent_seq))].filter(
    seq => Number.isSafeInteger(seq) && seq >= 0 && seq < 2 ** 31 && !own.has(seq) && !parents.has(seq),
  )
  if (wanted.length === 0) return parents
  for (const place of yield* readRawPositions(conv, wanted)) parents.set(place.seq, place)
  return parents
}

/** The positions of messages, without those that cannot be read. */
export function* readRawPositions(conv: Conv, seqs: readonly number[]): Program<readonly RawPositionRow[]> {
  try {
    return yield* all('rawPlaces', { conv, seqs })
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  const places: RawPositionRow[] = []
  if (seqs.length === 1) return places
  for (const seq of seqs) places.push(...(yield* readRawPositions(conv, [seq])))
  return places
}

function complainOfParent(row: RawMessageRow, findings: FindingList, isPurging: boolean): void {
  const about = subjectOf(row)
  if (row.parent_seq >= row.seq) findings.add('damage', 'its parent was stored after it', about)
  else if (!isPurging) findings.add('damage', `its parent (seq ${row.parent_seq}) is missing`, about)
}

type Tombstone = VerifyStatements['rawTombstones'][1]

const page = 1_000

/** Walks the messages in order of seq and checks the gaps between them: every seq is that of a message or
 *  of a tombstone, and not of both. */
interface GapWalk {
  at(row: RawMessageRow): Program<void>
  end(): Program<void>
}

function walkGaps({ conv, next_seq }: RawConversationRow, findings: FindingList): GapWalk {
  let waiting: readonly Tombstone[] = []
  let [next, above, isLast, reached] = [0, -1, false, -1]
  return { at, end }

  function* at({ seq, id }: RawMessageRow): Program<void> {
    if (seq <= reached) {
      findings.add('damage', 'two messages have one place', { message: id, seq })
      return
    }
    const buried = yield* tombstonesUpTo(seq)
    if (buried.at(-1)?.seq === seq)
      findings.add('repairable', 'it has a tombstone, and is there', { message: id, seq })
    complain(buried, seq)
    reached = seq
  }

  function* end(): Program<void> {
    const buried = yield* tombstonesUpTo(Number.POSITIVE_INFINITY)
    const last = Math.max(reached, buried.at(-1)?.seq ?? -1)
    complain(buried, Math.max(last + 1, next_seq))
    if (last >= next_seq)
      findings.add('repairable', `the next seq is said to be ${next_seq}, and ${last} is there already`)
  }

  /** Reports seqs between `reached` and `seq` that have neither a message nor a tombstone. */
  function complain(buried: readonly Tombstone[], seq: number): void {
    let from = reached + 1
    for (const tombstone of buried) {
      missing(from, Math.min(tombstone.seq, seq) - 1)
      if (tombstone.parent_seq >= tombstone.seq)
        findings.add('repairable', 'the parent of a tombstone was stored after it', { seq: tombstone.seq })
      from = Math.max(from, tombstone.seq + 1)
    }
    missing(from, seq - 1)
  }

  function missing(lo: number, hi: number): void {
    if (lo > hi) return
    const which = lo === hi ? 'a message is missing' : `${hi - lo + 1} messages are missing, up to seq ${hi}`
    findings.add('damage', `${which}, without a tombstone`, { seq: lo })
  }

  function* tombstonesUpTo(seq: number): Program<readonly Tombstone[]> {
    const taken: Tombstone[] = []
    for (;;) {
      if (next >= waiting.length) {
        if (isLast) return taken
        waiting = yield* all('rawTombstones', { conv, above, limit: page })
        next = 0
        isLast = waiting.length < page
        if (waiting.length === 0) return taken
        above = waiting.at(-1)!.seq
      }
      const tombstone = waiting[next]!
      if (tombstone.seq > seq) return taken
      next++
      taken.push(tombstone)
    }
  }
}
