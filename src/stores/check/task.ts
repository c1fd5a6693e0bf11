import { checkName, checkText, checkTime, latestTime } from '../../core/check.ts'
import { InvalidError } from '../../core/errors.ts'
import { conversationId } from '../../core/ids.ts'
import {
  type ClaimFilter,
  type ClaimRequest,
  type Dispatch,
  type DispatchClaim,
  type DispatchEnd,
  type DispatchOptions,
  type ListTasks,
  type NewTask,
  taskStatuses,
} from '../../core/task.ts'
import type { DispatchRecord, TaskRecord } from '../../core/task-record.ts'
import * as f from './fields.ts'
import {
  checkInt32,
  each,
  type FieldTable,
  fields,
  jsonObject,
  listOf,
  maybe,
  numberFrom,
  optional,
  orNull,
  pickFields,
  wordFrom,
} from './fields.ts'
import { checkHolder, checkPage } from './input.ts'

/** Most bytes of a description, a context and the words of a dispatch. */
const mostWords = 1_048_576

/** Checks input about tasks before an engine sees it. */

export function checkTaskId(id: string): string {
  return checkName(id, 'task')
}

/** A text that is not blank. */
export function checkTaskText(value: unknown, field: string): string {
  const text = checkText(value, field, mostWords)
  if (text.trim() === '') throw new InvalidError(field, 'must not be empty')
  return text
}

export const checkNewTask = fields<NewTask>({
  id: optional(checkName),
  project: maybe(checkName),
  description: checkTaskText,
  context: maybe(checkTaskText),
  parent: maybe(checkName),
  metadata: optional(jsonObject(65_536)),
})

const checkNumber = numberFrom(1, 2 ** 31 - 1)

export function checkDispatchNumber(n: number): number {
  return checkNumber(n, 'n')
}

export const checkDispatchOptions = fields<DispatchOptions>(
  each(optional, { words: checkTaskText, n: checkNumber, onBusy: wordFrom('wait', 'refuse') }),
)

export const checkClaimRequest = fields<ClaimRequest>({ holder: checkHolder, worker: checkName })

const projects = listOf<string>(checkName)

export function checkClaimFilter(filter: ClaimFilter): ClaimFilter {
  if (filter.projects === undefined) return filter
  projects(filter.projects, 'projects')
  const { length } = filter.projects
  if (length === 0 || length > 100) throw new InvalidError('projects', 'must be 1 to 100 projects')
  return filter
}

export const checkClaim = fields<DispatchClaim>({ task: checkName, n: checkNumber, attempt: checkInt32 })

export const checkDispatchEnd = fields<DispatchEnd>({
  status: wordFrom('done', 'failed', 'cancelled'),
  result: optional(jsonObject(16_777_216)),
  error: optional((value, field) => checkText(value, field, 65_536)),
})

export const checkSeen = fields<Pick<Dispatch, 'task' | 'n' | 'attempts' | 'leaseUntil'>>({
  task: checkName,
  n: checkNumber,
  attempts: checkInt32,
  leaseUntil: orNull(checkTime),
})

const listing = fields<Omit<ListTasks, 'limit' | 'after'>>(
  each(optional, {
    project: checkName,
    status: wordFrom(...taskStatuses),
    createdFrom: checkTime,
    createdBefore: checkTime,
  }),
)

export function checkTaskListing(options: ListTasks): ListTasks {
  checkPage(options)
  return listing(options)
}

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
