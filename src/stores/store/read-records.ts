import { blobHashesIn } from '../../core/body.ts'
import { CorruptError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { BlobRecord, StoreRecord, UnreadableRecord } from '../../core/record.ts'
import { nextTurn } from '../../system/event-loop-turns.ts'
import { all, type Engine, first, type Program } from '../engine/engine.ts'
import * as stored from '../engine/row-to-record.ts'
import type { MessageRecordRow, TombstoneRow } from '../engine/statements-records.ts'
import { readBlob } from '../programs/content.ts'
import { beforeRoots } from '../programs/insert-message.ts'
import { type RecordOutline, readMovedBranches, readOutline } from '../programs/records/read-outline.ts'
import { programStepper } from './program-stepper.ts'

/** How many seqs and how many bytes of bodies are read at a time. */
const pageSeqs = 512
const pageBytes = 4_194_304
const pageRows = 512

type Piece = StoreRecord | UnreadableRecord

/** In lists, because each record that passes through an asynchronous generator costs a microsecond. */
type Pages = AsyncGenerator<readonly Piece[]>

/** Everything stored of a conversation, page by page. The event loop turns after each page. See
 *  `RecordMover`. */
export async function* readRecords(engine: Engine, id: ConversationId): Pages {
  const { outline, lost } = await outlineOf(engine, id)
  if (!outline) throw new NotFoundError('conversation', id)
  yield [made(id, 'the conversation', () => stored.conversationRecord(outline.row))]
  yield* readMessages(engine, id, outline)
  yield* readTurns(engine, id, outline)
  yield* readSummaries(engine, id, outline)
  yield* readEvents(engine, id, outline)
  yield* readBranches(engine, id, outline)
  yield outline.links.map(row => stored.linkRecord(id, row))
  yield lost
}

/** If a part of the outline cannot be read, the other parts are read separately, without a common
 *  snapshot. */
async function outlineOf(
  engine: Engine,
  id: ConversationId,
): Promise<{ readonly outline: RecordOutline | null; readonly lost: readonly UnreadableRecord[] }> {
  const whole = await engine.read(() => readOutline(id)).catch(unlessDamaged)
  if (whole) return { outline: whole, lost: [] }
  const row = await engine.query(() => first('conversationById', { id }))
  if (!row || row.purging === 1) return { outline: null, lost: [] }
  const { conv } = row
  const lost: UnreadableRecord[] = []
  const branches = await part('branches', () => all('branches', { conv }))
  const links = await part('agent links', () => all('linkRecords', { conv }))
  const open: RecordOutline['open'][number][] = []
  for (const turn of await part('open turns', () => all('openTurnRecords', { conv }))) {
    const pieces = await part('the draft of an open turn', () => all('drafts', { conv, turn: turn.key }))
    open.push({ turn: { ...turn, first_id: null, last_id: null }, pieces })
  }
  return { outline: { row, branches, links, open }, lost }

  async function part<T>(what: string, read: () => Program<readonly T[]>): Promise<readonly T[]> {
    const rows = await engine.query(read).catch(unlessDamaged)
    if (rows === null) lost.push(unreadable(id, what, new Error('the file is damaged there')))
    return rows ?? []
  }
}

async function* readMessages(engine: Engine, id: ConversationId, { row }: RecordOutline): Pages {
  const { conv, next_seq } = row
  const written = new Set<string>()
  for (let lo = 0; lo < next_seq; lo += pageSeqs) {
    const hi = Math.min(lo + pageSeqs, next_seq) - 1
    if (lo > 0) await nextTurn()
    for (const part of await partsOf(engine, conv, lo, hi)) {
      let page: Piece[] = []
      for (const piece of await readSpan(engine, id, conv, part)) {
        for (const hash of blobsOf(piece)) {
          if (written.has(hash)) continue
          yield page
          page = []
          yield [await readBlobRecord(engine, id, hash)]
          written.add(hash)
        }
        page.push(piece)
      }
      yield page
    }
  }
}

interface Span {
  readonly lo: number
  readonly hi: number
}

function blobsOf(piece: Piece): readonly string[] {
  return piece.kind === 'message' && piece.body !== null ? blobHashesIn(piece.body) : []
}

/** Splits a range so that no part exceeds `pageBytes`, unless a single message does. */
async function partsOf(engine: Engine, conv: number | string, lo: number, hi: number): Promise<Span[]> {
  const range = { conv, lo, hi, most: pageBytes }
  const sizes = await engine.query(() => all('bodySizes', range)).catch(unlessDamaged)
  const parts: Span[] = []
  let from = lo
  let bytes = 0
  for (const { seq, size } of sizes ?? []) {
    if (bytes > 0 && bytes + size > pageBytes) {
      parts.push({ lo: from, hi: seq - 1 })
      from = seq
      bytes = 0
    }
    bytes += size
  }
  return [...parts, { lo: from, hi }]
}

/** If a range cannot be read, its halves are tried, down to the damaged message. */
async function readSpan(
  engine: Engine,
  id: ConversationId,
  conv: number | string,
  { lo, hi }: Span,
): Promise<Piece[]> {
  try {
    const [messages, tombstones] = await engine.read(function* () {
      return [
        yield* all('messageRecords', { conv, lo, hi }),
        yield* all('tombstoneRecords', { conv, lo, hi }),
      ] as const
    })
    return inOrder(id, messages, tombstones)
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error
    if (lo === hi) return [unreadable(id, `message at seq ${lo}`, error)]
    const middle = Math.floor((lo + hi) / 2)
    return [
      ...(await readSpan(engine, id, conv, { lo, hi: middle })),
      ...(await readSpan(engine, id, conv, { lo: middle + 1, hi })),
    ]
  }
}

function inOrder(
  id: ConversationId,
  messages: readonly MessageRecordRow[],
  tombstones: readonly TombstoneRow[],
): Piece[] {
  const idAt = new Map(messages.map(row => [row.seq, row.id]))
  const pieces: Piece[] = []
  let next = 0
  for (const row of messages) {
    buryBelow(row.seq)
    const { parent_seq, turn } = row
    const parent_id = row.parent_id ?? idAt.get(parent_seq) ?? null
    const turn_id = row.turn_id ?? (turn === null ? null : (idAt.get(turn) ?? null))
    pieces.push(
      made(id, `message at seq ${row.seq}`, () => stored.messageRecord(id, row, { parent_id, turn_id })),
    )
  }
  buryBelow(Number.POSITIVE_INFINITY)
  return pieces

  function buryBelow(seq: number): void {
    for (; next < tombstones.length && tombstones[next]!.seq < seq; next++) {
      const row = tombstones[next]!
      pieces.push(made(id, `tombstone at seq ${row.seq}`, () => stored.tombstoneRecord(id, row)))
    }
  }
}

async function readBlobRecord(
  engine: Engine,
  id: ConversationId,
  hash: string,
): Promise<BlobRecord | UnreadableRecord> {
  try {
    return { kind: 'blob', hash, data: await programStepper(engine)(readBlob(hash)) }
  } catch (error) {
    if (error instanceof NotFoundError) return unreadable(id, `blob ${hash}`, new Error('it is missing'))
    if (!(error instanceof CorruptError)) throw error
    return unreadable(id, `blob ${hash}`, error)
  }
}

/** A turn that was open when the outline was read is returned in that state. Turns begun since are left
 *  out. */
async function* readTurns(engine: Engine, id: ConversationId, { row, open }: RecordOutline): Pages {
  const { conv, next_seq: below } = row
  const openThen = new Map(open.map(one => [one.turn.key, one.turn]))
  for (let after = ''; ; ) {
    const from = after
    const page = () => all('turnRecords', { conv, after: from, below, limit: pageRows })
    const rows = await engine.query(page).catch(unlessDamaged)
    if (!rows) {
      yield* readDamagedTurns(engine, id, row, from)
      break
    }
    yield rows.map(now => {
      const then = openThen.get(now.key)
      const turn = then?.first_id && then.last_id ? then : now
      // Reopened since the outline was read: at that time it had ended with a message below.
      const ended =
        turn.last < below
          ? turn
          : { ...turn, last: turn.first, last_id: turn.first_id, status: 'interrupted' }
      return made(id, `turn ${JSON.stringify(turn.key)}`, () => stored.turnRecord(id, ended))
    })
    if (rows.length < pageRows) break
    await nextTurn()
    after = rows.at(-1)!.key
  }
  for (const { turn, pieces } of open) {
    yield pieces.map(piece =>
      made(id, `draft of turn ${JSON.stringify(turn.key)}`, () =>
        stored.draftRecord(id, { ...piece, turn: turn.key }),
      ),
    )
  }
}

/** One by one, without turns whose messages cannot be read. */
async function* readDamagedTurns(
  engine: Engine,
  id: ConversationId,
  { conv, next_seq }: RecordOutline['row'],
  after: string,
): Pages {
  for (let from = after; ; ) {
    const page = { conv, after: from, limit: pageRows }
    const rows = await engine.query(() => all('turnsByKey', page)).catch(unlessDamaged)
    if (!rows) {
      yield [unreadable(id, 'turns', new Error('the file is damaged there'))]
      return
    }
    for (const turn of rows.filter(({ last }) => last < next_seq)) {
      const [first_id, last_id] = [await idAt(turn.first), await idAt(turn.last)]
      yield [
        made(id, `turn ${JSON.stringify(turn.key)}`, () =>
          stored.turnRecord(id, { ...turn, first_id, last_id }),
        ),
      ]
    }
    if (rows.length < pageRows) return
    from = rows.at(-1)!.key
  }

  async function idAt(seq: number): Promise<string | null> {
    const span = { conv, lo: seq, hi: seq }
    const message = await engine.query(() => first('idsBetween', span)).catch(unlessDamaged)
    if (message) return message.id
    return (await engine.query(() => first('tombstoneRecords', span)).catch(unlessDamaged))?.id ?? null
  }
}

async function* readSummaries(engine: Engine, id: ConversationId, { row }: RecordOutline): Pages {
  const { conv, next_seq: below } = row
  for (let after = { after_last: -1, after_first: -1 }; ; ) {
    const from = after
    const page = () => all('summaryRecords', { conv, below, ...from, limit: pageRows })
    const rows = await engine.query(page).catch(unlessDamaged)
    if (!rows) {
      yield [unreadable(id, 'summaries', new Error('the file is damaged there'))]
      return
    }
    yield rows.map(summary => stored.summaryRecord(id, summary))
    const last = rows.at(-1)
    if (!last || rows.length < pageRows) return
    after = { after_last: last.last_seq, after_first: last.first_seq }
  }
}

async function* readEvents(engine: Engine, id: ConversationId, { row }: RecordOutline): Pages {
  const { conv, next_event } = row
  for (let after = -1; after < next_event - 1; ) {
    const from = after
    const page = () => all('events', { conv, after: from, types: null, limit: pageRows })
    const rows = await engine.query(page).catch(unlessDamaged)
    if (!rows) {
      yield [unreadable(id, `events from ${after + 1}`, new Error('the file is damaged there'))]
      return
    }
    if (rows.length === 0) return
    const known = rows.filter(event => event.n < next_event)
    yield known.map(event => made(id, `event ${event.n}`, () => stored.eventRecord(id, event)))
    after = rows.at(-1)!.n
  }
}

async function* readBranches(engine: Engine, id: ConversationId, outline: RecordOutline): Pages {
  const moved = await engine.read(() => readMovedBranches(outline)).catch(unlessDamaged)
  yield outline.branches.map(row => {
    const now = moved?.get(row.name)
    const head = now === undefined ? row.head_id : (now ?? nowhereHead).head_id
    return stored.branchRecord(id, { ...row, head_id: head })
  })
}

const nowhereHead = { head_id: beforeRoots.id }

/** The record made from a row, or `unreadable`. */
function made(id: ConversationId, what: string, make: () => StoreRecord): Piece {
  try {
    return make()
  } catch (error) {
    return unreadable(id, what, error)
  }
}

function unreadable(conversationId: ConversationId, what: string, error: unknown): UnreadableRecord {
  return { kind: 'unreadable', conversationId, what, reason: (error as Error).message }
}

function unlessDamaged(error: unknown): null {
  if (error instanceof CorruptError) return null
  throw error
}
