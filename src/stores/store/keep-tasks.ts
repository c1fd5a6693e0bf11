import { checkName } from '../../core/check.ts'
import { ReadOnlyError } from '../../core/errors.ts'
import { conversationId } from '../../core/ids.ts'
import type { TaskKeeper } from '../../core/task.ts'
import type { TaskRecord } from '../../core/task-record.ts'
import { checkPage } from '../check/input.ts'
import * as checked from '../check/task.ts'
import type { Engine } from '../engine/engine.ts'
import { readTaskRecord, taskIds } from '../programs/records/tasks.ts'
import * as claims from '../programs/tasks/claim.ts'
import * as manage from '../programs/tasks/manage.ts'
import { dispatchTask, getDispatch, submitTask } from '../programs/tasks/submit.ts'

/** The port of tasks over an engine: checks the input, then runs the program for the operation. */
export function keepTasks({ query, read, write, source }: Engine): TaskKeeper {
  const now = () => source.now()
  return {
    submitTask: async task => {
      const given = checked.checkNewTask(task)
      return write(() => submitTask(given, now()))
    },
    dispatchTask: async (id, options = {}) => {
      const [task, given] = [checked.checkTaskId(id), checked.checkDispatchOptions(options)]
      return write(() => dispatchTask(task, given, now()))
    },
    claimDispatch: async (request, filter = {}) => {
      const [by, of] = [checked.checkClaimRequest(request), checked.checkClaimFilter(filter)]
      return write(() => claims.claimDispatch(by, of, now()))
    },
    claimThisDispatch: async (id, n, request) => {
      const [task, number] = [checked.checkTaskId(id), checked.checkDispatchNumber(n)]
      const by = checked.checkClaimRequest(request)
      return write(() => claims.claimThisDispatch(task, number, by, now()))
    },
    renewDispatch: async claim => {
      const held = checked.checkClaim(claim)
      return write(() => claims.renewDispatch(held, now()))
    },
    linkDispatch: async (claim, conversation) => {
      const [held, id] = [checked.checkClaim(claim), conversationId(conversation)]
      return write(() => claims.linkDispatch(held, id))
    },
    finishDispatch: async (claim, end) => {
      const [held, given] = [checked.checkClaim(claim), checked.checkDispatchEnd(end)]
      return write(() => claims.finishDispatch(held, given, now()))
    },
    releaseDispatch: async claim => {
      const held = checked.checkClaim(claim)
      return write(() => claims.releaseDispatch(held, now()))
    },
    reclaimDispatch: async seen => {
      checked.checkSeen(seen)
      return write(() => claims.reclaimDispatch(seen, now()))
    },
    cancelTask: async id => write(() => manage.cancelTask(checked.checkTaskId(id), now())),
    retryTask: async id => write(() => manage.retryTask(checked.checkTaskId(id), now())),
    getTask: async id => query(() => manage.getTask(checked.checkTaskId(id))),
    listTasks: async (options = {}) => query(() => manage.listTasks(checked.checkTaskListing(options))),
    getDispatch: async (id, n) =>
      query(() => getDispatch(checked.checkTaskId(id), checked.checkDispatchNumber(n))),
    listDispatches: async (id, page = {}) =>
      read(() => manage.listDispatches(checked.checkTaskId(id), checkPage(page))),
    listRunningDispatches: async (page = {}) => query(() => manage.listRunning(checkPage(page))),
    countTasks: async () => query(manage.countTasks),
    deleteTask: async id => write(() => manage.deleteTask(checked.checkTaskId(id), now())),
    deleteProject: async project => write(() => manage.deleteProject(checkName(project, 'project'), now())),
  }
}

/** Tasks that are listed at once. */
const tasksPerPage = 200

/** All tasks, one at a time. Those that are deleted meanwhile are left out. A file that could not be migrated
 *  has none. */
export async function* readTaskRecords(engine: Engine): AsyncGenerator<TaskRecord> {
  for (let after = ''; ; ) {
    let ids: readonly string[]
    try {
      ids = await engine.query(() => taskIds(after, tasksPerPage))
    } catch (error) {
      if (error instanceof ReadOnlyError) return
      throw error
    }
    for (const id of ids) {
      const record = await engine.read(() => readTaskRecord(id))
      if (record) yield record
    }
    if (ids.length < tasksPerPage) return
    after = ids.at(-1)!
  }
}
