import { checkName, checkText, latestTime } from '../../core/check.ts'
import { InvalidError } from '../../core/errors.ts'
import { conversationId } from '../../core/ids.ts'
import type { DispatchRecord, TaskRecord } from '../../core/task-record.ts'
import * as f from './fields.ts'
import { each, type FieldTable, orNull, pickFields } from './fields.ts'
import { checkTaskText } from './task.ts'

const ms = f.numberFrom(0, latestTime)

const dispatch = f.plainObject(
  'must be an object',
  pickFields<DispatchRecord>({
    words: orNull(checkTaskText),
    status: f.wordFrom('waiting', 'queued', 'done', 'failed', 'cancelled'),
    attempts: f.checkInt32,
    deaths: f.checkInt32,
    ...each(orNull, {
      worker: checkName,
      conversationId,
      result: f.jsonObject(16_777_216),
      error: (value, field) => checkText(value, field, 65_536),
    }),
    createdAt: ms,
    ...each(orNull, { queuedAt: ms, startedAt: ms, endedAt: ms }),
  }),
)

/** The fields of a task in a record. */
export const taskRecordFields: FieldTable<Omit<TaskRecord, 'kind'>> = {
  id: checkName,
  description: checkTaskText,
  metadata: f.jsonObject(65_536),
  dispatches: f.listOf<DispatchRecord>(dispatch),
  ...each(orNull, { project: checkName, context: checkTaskText, parent: checkName, conversationId }),
  createdAt: ms,
  updatedAt: ms,
}

/** Checks what the fields cannot tell: dispatches wait only for a queued one. Throws InvalidError. */
export function checkTaskRecord(task: TaskRecord): TaskRecord {
  const { dispatches } = task
  if (dispatches.length === 0) throw new InvalidError('dispatches', 'must not be empty')
  const queued = dispatches.findIndex(({ status }) => status === 'queued')
  const others = dispatches.filter(({ status }, i) => i !== queued && status === 'queued')
  if (others.length > 0) throw new InvalidError('dispatches', 'must have one queued dispatch at most')
  const waits = dispatches.findIndex(({ status }) => status === 'waiting')
  if (waits !== -1 && (queued === -1 || waits < queued))
    throw new InvalidError('dispatches', 'must not wait without a queued dispatch before them')
  return task
}
