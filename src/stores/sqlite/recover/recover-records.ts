import type { Database } from 'better-sqlite3'
import type { ConversationId } from '../../../core/ids.ts'
import type { ConversationRecord, StoreRecord } from '../../../core/record.ts'
import { checkRecord } from '../../check/record.ts'
import * as stored from '../../engine/row-to-record.ts'
import type { BranchRow, ConversationRow, LinkRow, SummaryRow, TurnRow } from '../../engine/rows.ts'
import { attempt, rowsFromBothEnds } from './readable-rows.ts'
import type { KeptMessages, RecoverLoss } from './recover-messages.ts'

/** The record of the conversation, or a default one with its id if the row cannot be read. */
export function recoverConversation(
  db: Database,
  conv: number,
  id: ConversationId,
  now: number,
): { readonly record: ConversationRecord; readonly isWhole: boolean } {
  const row = attempt(
    () =>
      db
        .prepare(
          `SELECT c.*, c.c AS conv, (SELECT text FROM skein_prompts p WHERE p.hash = c.prompt_hash) AS prompt_text
           FROM skein_conversations c NOT INDEXED WHERE c.c = ?`,
        )
        .get(conv) as ConversationRow | undefined,
  )
  const record = row && attempt(() => stored.conversationRecord(row))
  if (record) return { record: { ...record, id }, isWhole: true }
  return { record: { ...bare(now), id }, isWhole: false }
}

const bare = (now: number): Omit<ConversationRecord, 'id'> => ({
  kind: 'conversation',
  conversationKind: 'main',
  ...{ title: null, model: null, label: null, channel: null, directory: null, project: null, task: null },
  ...{ owner: null, parent: null, promptPolicy: 'rebuild', prompt: null, toolResults: 'full', metadata: {} },
  ...{ tags: [], activeBranch: 'main', tokensUsed: 0, cost: 0, createdAt: now, updatedAt: now },
  ...{ expiresAt: null, ttlMs: null, renewMs: null, trashedAt: null },
})

/** The turns of a conversation that can be stored again. Its messages must not refer to others. A turn whose
 *  usage cannot be read is kept without it. */
export function readableTurns(
  db: Database,
  conv: number,
  id: ConversationId,
  lose: (what: string) => void,
): readonly TurnRow[] {
  return rowsOf<TurnRow>(db, conv, 'turns', ['first', 'key'], lose).flatMap(row => {
    if (isStorable(row, id)) return [row]
    const name = `turn ${JSON.stringify(row.key)}`
    const rest = { ...row, usage: '{}' }
    lose(isStorable(rest, id) ? `the usage of ${name} cannot be read` : `${name} cannot be read`)
    return isStorable(rest, id) ? [rest] : []
  })
}

function isStorable(row: TurnRow, id: ConversationId): boolean {
  const known = 'a'.repeat(32)
  const record = attempt(() => stored.turnRecord(id, { ...row, first_id: known, last_id: known }))
  return record !== undefined && attempt(() => checkRecord(record)) !== undefined
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
  const { id } = conversation
  for (const turn of turns) {
    const isThere = kept.exactlyAt(turn.last) !== null && turn.last >= turn.first
    const last = isThere ? turn.last : (kept.lastIn(turn.first, turn.last) ?? turn.first)
    const [first_id, last_id] = [kept.exactlyAt(turn.first), kept.exactlyAt(last)]
    if (first_id === null) lose(`turn ${JSON.stringify(turn.key)} has lost its first message`)
    else yield* made('a turn', () => stored.turnRecord(id, { ...turn, last, first_id, last_id }))
  }
  for (const { turn, n, type, text } of read<DraftRow>('drafts', ['turn', 'n'])) {
    yield* made('a draft', () => ({
      kind: 'draft',
      conversationId: id,
      turn,
      n,
      type: type as 'text' | 'thinking',
      text: JSON.parse(text) as string,
    }))
  }
  for (const row of read<SummaryRow>('summaries', ['last_seq', 'first_seq'])) {
    if (row.text === null) continue
    const isSame = kept.isSame(row.first_seq, row.first_id) && kept.isSame(row.last_seq, row.last_id)
    if (isSame) yield* made('a summary', () => stored.summaryRecord(id, row))
    else lose('the messages of a summary are lost')
  }
  for (const row of read<EventRow>('events', ['n']))
    yield* made('an event', () => stored.eventRecord(id, row))
  const branches = read<BranchRow>('branches', ['name'])
  for (const row of branches) {
    const head = row.head_seq < 0 ? null : kept.idAt(row.head_seq)
    if (head !== row.head_id) lose(`branch ${JSON.stringify(row.name)} ends with ${head ?? 'nothing'} now`)
    yield* made('a branch', () => stored.branchRecord(id, { ...row, head_id: head }))
  }
  if (!branches.some(({ name }) => name === conversation.activeBranch)) {
    lose(
      `its active branch is lost: ${JSON.stringify(conversation.activeBranch)} ends with its newest message now`,
    )
    const { createdAt, updatedAt } = conversation
    yield {
      kind: 'branch',
      conversationId: id,
      name: conversation.activeBranch,
      head: kept.newest,
      ...{ key: null, formerKey: null, trashedKey: null, title: null, createdAt, updatedAt },
    }
  }
  for (const row of read<LinkRow & { seen_seq: number | null }>('agent_links', [
    'branch',
    'agent',
    'directory',
  ])) {
    const seen = row.seen_seq !== null && row.seen_id !== null && kept.isSame(row.seen_seq, row.seen_id)
    yield* made('an agent link', () => stored.linkRecord(id, { ...row, seen_id: seen ? row.seen_id : null }))
  }

  function read<T>(table: string, order: readonly string[]): readonly T[] {
    return rowsOf<T>(db, conv, table, order, lose)
  }

  function* made(what: string, make: () => StoreRecord): Generator<StoreRecord> {
    const record = attempt(make)
    if (record) yield record
    else lose(`${what} cannot be read`)
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
