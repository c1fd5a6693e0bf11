import type { Database } from 'better-sqlite3'
import { latestTime } from '../../../core/check.ts'
import type { ConversationId } from '../../../core/ids.ts'
import type { ConversationRecord, StoreRecord } from '../../../core/record.ts'
import { checkRecord } from '../../check/record.ts'
import * as stored from '../../engine/row-to-record.ts'
import { holderText } from '../../engine/row-to-value.ts'
import type { BranchRow, ConversationRow, LinkRow, SummaryRow, TurnRow } from '../../engine/rows.ts'
import { parsed, storedList, storedObject } from '../../engine/stored-fields.ts'
import { mendRow, type Substitutes } from './mend-row.ts'
import { attempt, rowsFromBothEnds } from './readable-rows.ts'
import type { KeptMessages, RecoverLoss } from './recover-messages.ts'

/** The record of the conversation in a row. Fields that cannot be read have their defaults. If anything is
 *  wrong with the row, the conversation is not in the trash and does not expire: it would be removed
 *  later. */
export function recoverConversation(
  db: Database,
  number: number,
  id: ConversationId,
  now: number,
  lose: (what: string) => void,
): ConversationRecord {
  let losses = 0
  const record = readConversation(db, number, id, now, what => {
    losses++
    lose(what)
  })
  let kept = record
  for (const field of ['trashedAt', 'expiresAt'] as const) {
    const at = record[field]
    if (at === null || (losses === 0 && at >= record.createdAt)) continue
    lose(`its ${field} may be wrong: it is left out`)
    kept = { ...kept, [field]: null }
  }
  return kept
}

function readConversation(
  db: Database,
  number: number,
  id: ConversationId,
  now: number,
  lose: (what: string) => void,
): ConversationRecord {
  const row = attempt(
    () =>
      db
        .prepare(
          `SELECT c.*, c.c AS conv, (SELECT text FROM skein_prompts p WHERE p.hash = c.prompt_hash) AS prompt_text
           FROM skein_conversations c NOT INDEXED WHERE c.c = ?`,
        )
        .get(number) as ConversationRow | undefined,
  )
  if (row?.purging === 1) lose('its mark of a purge is wrong: it is kept')
  const read = row && attempt(() => stored.conversationRecord({ ...withReadableJson(row, lose), id }))
  let record: ConversationRecord = { ...bare(now), id }
  if (!read) {
    lose('its title, links and settings are lost')
    return record
  }
  if (isStorable({ ...read, id })) return { ...read, id }
  for (const [name, value] of Object.entries(read)) {
    const tried = { ...record, [name]: value, id }
    if (isStorable(tried)) record = tried
    else lose(`its ${name} cannot be read`)
  }
  return record
}

/** The columns with JSON, by the names of their fields, and how they are read. */
const jsonColumns = [
  ['tool_results', 'toolResults', '"full"', parsed],
  ['metadata', 'metadata', '{}', storedObject<object>],
  ['tags', 'tags', '[]', storedList<unknown>],
] as const

function withReadableJson(row: ConversationRow, lose: (what: string) => void): ConversationRow {
  let readable = row
  for (const [column, field, empty, read] of jsonColumns) {
    if (attempt(() => read(row[column], field, row.id)) !== undefined) continue
    lose(`its ${field} cannot be read`)
    readable = { ...readable, [column]: empty }
  }
  return readable
}

function isStorable(record: StoreRecord): boolean {
  return attempt(() => checkRecord(record)) !== undefined
}

const bare = (now: number): Omit<ConversationRecord, 'id'> => ({
  kind: 'conversation',
  conversationKind: 'main',
  ...{ title: null, model: null, label: null, channel: null, directory: null, project: null, task: null },
  ...{ owner: null, parent: null, promptPolicy: 'rebuild', prompt: null, toolResults: 'full', metadata: {} },
  ...{ tags: [], activeBranch: 'main', tokensUsed: 0, cost: 0, createdAt: now, updatedAt: now },
  ...{ expiresAt: null, ttlMs: null, renewMs: null, trashedAt: null },
})

/** The turns of a conversation that can be stored again. Its messages must not refer to others. */
export function readableTurns(
  db: Database,
  conv: number,
  conversation: ConversationRecord,
  lose: (what: string) => void,
): readonly TurnRow[] {
  const taken = new Set<string>()
  return rowsOf<TurnRow>(db, conv, 'turns', ['first', 'key'], lose).flatMap(row => {
    const name = `turn ${JSON.stringify(row.key)}`
    const mended = mendTurn(row, conversation, what => lose(`${what} of ${name} cannot be read`))
    if (mended === null) lose(`${name} cannot be read`)
    else if (taken.has(row.key)) lose(`${name} is there twice: only the first one is kept`)
    else {
      taken.add(row.key)
      return [mended]
    }
    return []
  })
}

/** A turn that can be stored, or null. */
function mendTurn(
  row: TurnRow,
  { id, createdAt }: ConversationRecord,
  lose: (what: string) => void,
): TurnRow | null {
  const known = 'a'.repeat(32)
  const toRecord = (tried: TurnRow) => stored.turnRecord(id, { ...tried, first_id: known, last_id: known })
  const isOpen = row.status === 'open'
  const substitutes: Substitutes<TurnRow> = {
    model: [null, 'the model'],
    prompt_hash: [null, 'the prompt'],
    usage: ['{}', 'the usage'],
    // A turn that is open keeps its draft. Its lease has run out, so that the next writer takes it over.
    holder: [isOpen ? holderText(noHolder) : null, 'the holder'],
    lease_until: [isOpen ? createdAt : null, 'the lease'],
    started_at: [createdAt, 'the start'],
    ...(!isOpen && { ended_at: [isTime(row.started_at) ? row.started_at : createdAt, 'the end'] }),
  }
  const isWhole = isOpen === (row.ended_at === null)
  const mended = mendRow(isWhole ? row : withRightEnd(row), substitutes, toRecord, lose)
  if (mended !== null && !isWhole) lose('the end')
  return mended
}

function isTime(value: number): boolean {
  return value >= 0 && value <= latestTime
}

const noHolder = { host: 'lost', boot: 'lost', pid: 0, startedAt: 0 }

/** A turn that is open and has ended, or neither. The status is a word and more likely to be right, but
 *  without a holder the turn was not open. */
function withRightEnd(row: TurnRow): TurnRow {
  if (row.status !== 'open') return { ...row, ended_at: row.started_at }
  return row.holder === null ? { ...row, status: 'interrupted' } : { ...row, ended_at: null }
}

/** The readable records that refer to messages, if those messages were kept. */
export function* recoverRecords(
  db: Database,
  conv: number,
  conversation: ConversationRecord,
  turns: readonly TurnRow[],
  kept: KeptMessages,
  onLoss: (loss: RecoverLoss) => void,
): Generator<StoreRecord> {
  const { id, createdAt, updatedAt } = conversation
  for (const turn of turns) {
    const last = kept.lastOfTurn(turn)
    const [first_id, last_id] = [kept.exactlyAt(turn.first), kept.exactlyAt(last)]
    if (first_id === null) lose(`turn ${JSON.stringify(turn.key)} has lost its first message`)
    else yield stored.turnRecord(id, { ...turn, last, first_id, last_id })
  }
  for (const row of read<DraftRow>('drafts', ['turn', 'n'])) {
    // The pieces behind one that is missing would be refused.
    const substitutes = { text: ['""', 'the text'], type: ['text', 'the type'] } as const
    const name = `piece ${row.n} of the draft of turn ${JSON.stringify(row.turn)}`
    yield* made(name, row, substitutes, mended => stored.draftRecord(id, mended))
  }
  for (const row of read<SummaryRow>('summaries', ['last_seq', 'first_seq'])) {
    if (row.text === null) continue
    const areKept = kept.hasId(row.first_id) && kept.hasId(row.last_id)
    // The earliest time: a summary is refused if words that it was made of were erased after it.
    const substitutes = { created_at: [createdAt, 'the time'], model: [null, 'the model'] } as const
    if (areKept) yield* made('a summary', row, substitutes, mended => stored.summaryRecord(id, mended))
    else lose('the messages of a summary are lost')
  }
  for (const row of read<EventRow>('events', ['n'])) {
    const name = `event ${row.n}`
    yield* made(name, row, { at: [createdAt, 'the time'] }, mended => stored.eventRecord(id, mended))
  }
  let hasActive = false
  for (const row of read<BranchRow>('branches', ['name'])) {
    const head = kept.named(row.head_seq, row.head_id)
    if (head !== row.head_id) lose(`branch ${JSON.stringify(row.name)} ends with ${head ?? 'nothing'} now`)
    const substitutes = {
      key: [null, 'the key'],
      former_key: [null, 'the former key'],
      trashed_key: [null, 'the key before it was in the trash'],
      title: [null, 'the title'],
      created_at: [createdAt, 'the creation time'],
      updated_at: [updatedAt, 'the time of the last change'],
    } as const
    const name = `branch ${JSON.stringify(row.name)}`
    const isMade = yield* made(name, { ...row, head_id: head }, substitutes, mended =>
      stored.branchRecord(id, mended),
    )
    hasActive ||= isMade && row.name === conversation.activeBranch
  }
  if (!hasActive) {
    lose(
      `its active branch is lost: ${JSON.stringify(conversation.activeBranch)} ends with its newest message now`,
    )
    yield {
      kind: 'branch',
      conversationId: id,
      name: conversation.activeBranch,
      head: kept.newest,
      ...{ key: null, formerKey: null, trashedKey: null, title: null, createdAt, updatedAt },
    }
  }
  for (const row of read<LinkRow>('agent_links', ['branch', 'agent', 'directory'])) {
    const seen = row.seen_id !== null && kept.hasId(row.seen_id)
    const known = { ...row, seen_id: seen ? row.seen_id : null }
    const substitutes = { updated_at: [updatedAt, 'the time'] } as const
    const name = `the link to the agent ${row.agent}`
    yield* made(name, known, substitutes, mended => stored.linkRecord(id, mended))
  }

  function read<T>(table: string, order: readonly string[]): readonly T[] {
    return rowsOf<T>(db, conv, table, order, lose)
  }

  /** Returns whether the record can be stored. */
  function* made<Row extends object>(
    name: string,
    row: Row,
    substitutes: Substitutes<Row>,
    toRecord: (row: Row) => StoreRecord,
  ): Generator<StoreRecord, boolean> {
    const mended = mendRow(row, substitutes, toRecord, what => lose(`${what} of ${name} cannot be read`))
    if (mended) yield toRecord(mended)
    else lose(`${name} cannot be read`)
    return mended !== null
  }

  function lose(what: string): void {
    onLoss({ conversation: id, message: null, seq: null, kind: 'other', what, now: null })
  }
}

/** The readable rows of a table that belong to a conversation. */
function rowsOf<T>(
  db: Database,
  conv: number,
  table: string,
  order: readonly string[],
  lose: (what: string) => void,
): readonly T[] {
  const sql = `SELECT * FROM skein_${table} WHERE conv = ?`
  const { rows, isWhole } = rowsFromBothEnds<T>(db, sql, order, [conv])
  if (!isWhole) lose(`some of its ${table.replace('_', ' ')} cannot be read`)
  return rows
}

interface DraftRow {
  readonly turn: string
  readonly n: number
  readonly type: string
  readonly text: string
}

interface EventRow {
  readonly n: number
  readonly type: string
  readonly at: number
  readonly data: string
}
