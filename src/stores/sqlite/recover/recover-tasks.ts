import type { Database } from 'better-sqlite3'
import type { ConversationId } from '../../../core/ids.ts'
import type { DispatchRecord, TaskRecord } from '../../../core/task-record.ts'
import { dispatchRecordFromRow, taskRecordFromRow } from '../../engine/row-to-task.ts'
import type { DispatchRow, TaskRow } from '../../engine/task-rows.ts'
import { mendRow, type Substitutes } from './mend-row.ts'
import { attempt, rowKeys, type TableGap } from './readable-rows.ts'

/** A row of `skein_tasks`: the task, and the state of its queued or running dispatch. */
type StoredTask = TaskRow & Pick<DispatchRow, 'attempts' | 'deaths' | 'worker' | 'queued_at' | 'started_at'>

/** A row of `skein_dispatches`. */
interface StoredDispatch extends Omit<DispatchRow, 'dispatch_status' | 'dispatched_at'> {
  readonly status: string
  readonly conversation_id: string | null
  readonly created_at: number
}

/** The readable tasks with their dispatches. A dispatch that cannot be read is replaced by a failed one that
 *  says so, because dispatches are numbered without a gap. */
export function* recoverTasks(
  db: Database,
  known: ReadonlySet<ConversationId | null>,
  now: number,
  onGap: (gap: TableGap) => void,
): Generator<TaskRecord> {
  const lose = (id: string, reason: string) =>
    onGap({ table: 'skein_tasks', reason: `task ${JSON.stringify(id)}: ${reason}` })
  const dispatches = dispatchKeys(db, onGap)
  const read = db.prepare('SELECT * FROM skein_tasks NOT INDEXED WHERE t = ?')
  const readDispatch = db.prepare('SELECT * FROM skein_dispatches NOT INDEXED WHERE rowid = ?')
  for (const t of rowKeys(db, 'skein_tasks', 't', onGap)) {
    const task = attempt(() => read.get(t) as StoredTask | undefined)
    if (typeof task?.id !== 'string') {
      onGap({ table: 'skein_tasks', reason: `row ${t} cannot be read` })
      continue
    }
    const { id } = task
    const rows = (dispatches.get(id) ?? []).map(key =>
      attempt(() => readDispatch.get(key) as StoredDispatch | undefined),
    )
    dispatches.delete(id)
    const record = attempt(() => recordOf(task, rows, known, now, reason => lose(id, reason)))
    if (record) yield record
    else lose(id, 'it cannot be read')
  }
  for (const id of dispatches.keys()) lose(id, 'only its dispatches can be read')
}

/** The row ids of all readable dispatches, by task. */
function dispatchKeys(db: Database, onGap: (gap: TableGap) => void): Map<string, number[]> {
  const owner = db.prepare('SELECT task FROM skein_dispatches NOT INDEXED WHERE rowid = ?').pluck()
  const byTask = new Map<string, number[]>()
  for (const key of rowKeys(db, 'skein_dispatches', 'rowid', onGap)) {
    const task = attempt(() => owner.get(key))
    if (typeof task !== 'string') continue
    const keys = byTask.get(task)
    if (keys) keys.push(key)
    else byTask.set(task, [key])
  }
  return byTask
}

function recordOf(
  task: StoredTask,
  rows: readonly (StoredDispatch | undefined)[],
  known: ReadonlySet<ConversationId | null>,
  now: number,
  lose: (reason: string) => void,
): TaskRecord | null {
  const mended = mendTask(task, now, name => lose(`${name} cannot be read`))
  if (mended === null) return null
  const byNumber = new Map(rows.flatMap(row => (row ? [[row.n, row] as const] : [])))
  const records: DispatchRecord[] = []
  for (let n = 1; n <= Math.max(1, mended.dispatches); n++) {
    const row = byNumber.get(n)
    const told = (name: string) => lose(`${name} of dispatch ${n} cannot be read`)
    const dispatch = row && mendDispatch(dispatchOf(task, row), mended, told)
    if (!dispatch) lose(`dispatch ${n} is lost`)
    records.push(withKnown(dispatch ? dispatchRecordFromRow(dispatch) : lostDispatch(mended), known))
  }
  return withKnown(taskRecordFromRow(mended, inOrder(records)), known)
}

function mendTask(task: StoredTask, now: number, lose: (name: string) => void): StoredTask | null {
  const substitutes: Substitutes<StoredTask> = {
    project: [null, 'its project'],
    context: [null, 'its context'],
    parent: [null, 'its parent'],
    metadata: ['{}', 'its metadata'],
    created_at: [now, 'its creation time'],
    updated_at: [now, 'the time of its last change'],
  }
  return mendRow(task, substitutes, tried => taskRecordFromRow(tried, [lostDispatch(tried)]), lose)
}

function mendDispatch(
  dispatch: DispatchRow,
  task: StoredTask,
  lose: (name: string) => void,
): DispatchRow | null {
  const substitutes: Substitutes<DispatchRow> = {
    words: [null, 'the prompt'],
    attempts: [0, 'the attempts'],
    deaths: [0, 'the deaths'],
    worker: [null, 'the worker'],
    result: [null, 'the result'],
    error: [null, 'the error'],
    dispatched_at: [task.created_at, 'the creation time'],
    queued_at: [dispatch.queued_at === null ? null : task.created_at, 'the time in the queue'],
    started_at: [null, 'the start'],
    ended_at: [dispatch.ended_at === null ? null : task.updated_at, 'the end'],
  }
  const toRecord = (tried: DispatchRow) => taskRecordFromRow(task, inOrder([dispatchRecordFromRow(tried)]))
  return mendRow(dispatch, substitutes, toRecord, lose)
}

function dispatchOf(task: StoredTask, row: StoredDispatch): DispatchRow {
  const { attempts, deaths, worker, queued_at, started_at } = row.status === 'active' ? task : row
  return {
    ...row,
    ...{ attempts, deaths, worker, queued_at, started_at },
    dispatch_status: row.status === 'active' ? 'queued' : row.status,
    dispatch_conversation: row.conversation_id,
    dispatched_at: row.created_at,
  }
}

function lostDispatch({ created_at, updated_at }: StoredTask): DispatchRecord {
  return {
    ...{ words: null, status: 'failed', attempts: 0, deaths: 0, worker: null, conversationId: null },
    ...{ result: null, error: 'this dispatch was lost with a damaged file' },
    ...{ createdAt: created_at, queuedAt: null, startedAt: null, endedAt: updated_at },
  }
}

/** At most one dispatch is queued, and only those behind it wait. */
function inOrder(records: readonly DispatchRecord[]): readonly DispatchRecord[] {
  const active = records.findIndex(({ status }) => status === 'queued' || status === 'waiting')
  return records.map((record, i): DispatchRecord => {
    if (record.status !== 'queued' && record.status !== 'waiting') return record
    return { ...record, status: i === active ? 'queued' : 'waiting' }
  })
}

/** Without a link to a conversation that is lost. */
function withKnown<T extends { readonly conversationId: ConversationId | null }>(
  record: T,
  known: ReadonlySet<ConversationId | null>,
): T {
  return known.has(record.conversationId) ? record : { ...record, conversationId: null }
}
