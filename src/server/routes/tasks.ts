import { createHash } from 'node:crypto'
import { z } from 'zod'
import { pageJson } from '../../api/receipt.ts'
import { deletedTasksSchema, dispatchSchema, nullOr, pageSchema, taskSchema } from '../../api/schema/index.ts'
import {
  dispatchRequestSchema,
  inProjectQuery,
  listDispatchesQuery,
  listTasksQuery,
  newTaskSchema,
} from '../../api/schema/request/index.ts'
import {
  deletedTasksJson,
  dispatchJson,
  dispatchOptionsOf,
  listTasksOf,
  newTaskOf,
  taskJson,
} from '../../api/task.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { Task } from '../../core/task.ts'
import { idempotencyHeader, idempotencyKey } from '../http/idempotency.ts'
import { type Caller, json, type Route, route } from '../http/route.ts'

const tag = 'Tasks'
const params = z.strictObject({ id: z.string().describe('the task') })
const onTask = { tag, params, query: inProjectQuery } as const

const shownTaskSchema = taskSchema
  .extend({ run: nullOr(dispatchSchema).describe('the dispatch that is queued or runs, or the last one') })
  .meta({ id: 'ShownTask', description: 'A task with its dispatch that is queued or runs, or its last one.' })

const taskResponse = { 200: { description: 'The task as it is now', schema: taskSchema } } as const

/** Submit tasks, dispatch, cancel and delete them. Workers do them: `skein dispatch work`, or workers in the
 *  process of the service. */
export function taskRoutes(): readonly Route[] {
  return [
    route({
      method: 'post',
      path: '/tasks',
      operation: 'submitTask',
      scope: 'ask',
      tag,
      summary: 'Submit a task, and queue its first dispatch',
      description:
        'A worker does it: `skein dispatch work` anywhere, or the service itself with `skein serve --workers`. ' +
        'With an id of yours, a repeated request returns the stored task. So it does with an Idempotency-Key, ' +
        'from which the id is made.',
      body: newTaskSchema,
      headers: idempotencyHeader,
      responses: { 201: { description: 'The task, queued', schema: taskSchema } },
      async handle({ body, request, caller: { store, token } }) {
        const given = newTaskOf(body)
        const key = idempotencyKey(request)
        const id = given.id ?? (key === null ? undefined : taskIdFromKey(token.tenant, key))
        const task = await store.submitTask({ ...given, ...(id !== undefined && { id }) })
        return json(taskJson(task), 201, { location: `/api/v1/tasks/${encodeURIComponent(task.id)}` })
      },
    }),
    route({
      method: 'get',
      path: '/tasks',
      operation: 'listTasks',
      scope: 'read',
      tag,
      summary: 'List tasks, newest first',
      query: listTasksQuery,
      responses: { 200: { description: 'A page of tasks', schema: pageSchema(taskSchema) } },
      async handle({ query, caller: { store } }) {
        return json(pageJson(await store.listTasks(listTasksOf(query)), taskJson))
      },
    }),
    route({
      ...onTask,
      method: 'get',
      path: '/tasks/{id}',
      operation: 'getTask',
      scope: 'read',
      summary: 'Read a task, with its state, attempts, worker and result',
      responses: { 200: { description: 'The task', schema: shownTaskSchema } },
      async handle({ params: { id }, query: { project }, caller }) {
        const task = await taskOf(caller, id, project)
        const run = await caller.store.getDispatch(id, task.current)
        return json({ ...taskJson(task), run: dispatchJson(run) })
      },
    }),
    route({
      method: 'get',
      path: '/tasks/{id}/dispatches',
      operation: 'listDispatches',
      scope: 'read',
      tag,
      summary: 'List the dispatches of a task, in order',
      params,
      query: listDispatchesQuery,
      responses: { 200: { description: 'A page of dispatches', schema: pageSchema(dispatchSchema) } },
      async handle({ params: { id }, query: { project, limit, after }, caller }) {
        await taskOf(caller, id, project)
        const page = { ...(limit !== undefined && { limit }), ...(after !== undefined && { after }) }
        return json(pageJson(await caller.store.listDispatches(id, page), dispatchJson))
      },
    }),
    route({
      ...onTask,
      method: 'post',
      path: '/tasks/{id}/dispatch',
      operation: 'dispatchTask',
      scope: 'ask',
      summary: 'Order another dispatch of a task',
      description:
        'It continues the conversation of the task. The response comes when the order is stored; follow the ' +
        'task with `/follow`, or read it. A retry with the same `n` and words is the same dispatch.',
      body: dispatchRequestSchema,
      bodyOptional: true,
      responses: { 202: { description: 'The dispatch, queued or waiting', schema: dispatchSchema } },
      async handle({ params: { id }, query: { project }, body, caller }) {
        await taskOf(caller, id, project)
        return json(dispatchJson(await caller.store.dispatchTask(id, dispatchOptionsOf(body ?? {}))), 202)
      },
    }),
    route({
      ...onTask,
      method: 'post',
      path: '/tasks/{id}/cancel',
      operation: 'cancelTask',
      scope: 'ask',
      summary: 'Cancel what is queued or waits, and ask a running worker to stop',
      responses: taskResponse,
      async handle({ params: { id }, query: { project }, caller }) {
        await taskOf(caller, id, project)
        return json(taskJson(await caller.store.cancelTask(id)))
      },
    }),
    route({
      ...onTask,
      method: 'post',
      path: '/tasks/{id}/retry',
      operation: 'retryTask',
      scope: 'ask',
      summary: 'Queue the last dispatch again, if it failed or was cancelled',
      responses: taskResponse,
      async handle({ params: { id }, query: { project }, caller }) {
        await taskOf(caller, id, project)
        return json(taskJson(await caller.store.retryTask(id)))
      },
    }),
    route({
      ...onTask,
      method: 'delete',
      path: '/tasks/{id}',
      operation: 'deleteTask',
      scope: 'write',
      summary: 'Delete a task, and move its conversations to the trash',
      responses: { 200: { description: 'It is deleted', schema: deletedTasksSchema } },
      async handle({ params: { id }, query: { project }, caller }) {
        await taskOf(caller, id, project)
        return json(deletedTasksJson(await caller.store.deleteTask(id), 'the task was deleted'))
      },
    }),
    route({
      method: 'delete',
      path: '/projects/{id}',
      operation: 'deleteProject',
      scope: 'write',
      tag,
      summary: 'Delete all tasks of a project, and move its conversations to the trash',
      description: 'Refused while a dispatch of one of its tasks runs.',
      params: z.strictObject({ id: z.string().describe('the project') }),
      responses: { 200: { description: 'They are deleted', schema: deletedTasksSchema } },
      async handle({ params: { id }, caller: { store } }) {
        return json(deletedTasksJson(await store.deleteProject(id), 'the tasks of the project were deleted'))
      },
    }),
  ]
}

/** A task, if it belongs to the project that the request names. Throws NotFoundError. */
async function taskOf({ store }: Caller, id: string, project: string | undefined): Promise<Task> {
  const task = await store.getTask(id)
  if (project !== undefined && task.project !== project) throw new NotFoundError('task', id)
  return task
}

/** The id of the task that a request with this key submits: the same for the same tenant and key. */
function taskIdFromKey(tenant: string, key: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(['skein task', tenant, key]))
    .digest('hex')
  return `T-${hash.slice(0, 16)}`
}
