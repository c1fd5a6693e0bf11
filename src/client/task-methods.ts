import type { PageJson } from '../api/receipt.ts'
import type { DeletedTasksJson, DispatchJson, TaskJson } from '../api/task.ts'
import type {
  DispatchRequest,
  ListTasksRequest,
  NewTaskRequest,
  PageParameters,
  RequestOptions,
  ShownTaskJson,
  TaskRequestOptions,
  WriteOptions,
} from './requests.ts'
import type { SendRequest } from './send.ts'

/** The requests for tasks. Workers do the tasks, not the client. */
export interface TaskClient {
  /** Submits a task and queues its first dispatch. Is repeated safely: each call has an id or an idempotency
   *  key. */
  submitTask(task: NewTaskRequest, options?: WriteOptions): Promise<TaskJson>
  /** A page of tasks, newest first. */
  listTasks(query?: ListTasksRequest, options?: RequestOptions): Promise<PageJson<TaskJson>>
  /** A task with the dispatch that is queued or runs, or its last one. */
  getTask(id: string, options?: TaskRequestOptions): Promise<ShownTaskJson>
  /** The dispatches of a task, in order. */
  listDispatches(
    id: string,
    page?: PageParameters,
    options?: TaskRequestOptions,
  ): Promise<PageJson<DispatchJson>>
  /** Orders another dispatch of a task. Is repeated only with a number `n`, which makes it the same one. */
  dispatchTask(id: string, dispatch?: DispatchRequest, options?: TaskRequestOptions): Promise<DispatchJson>
  /** Cancels what is queued or waits, and asks a running worker to stop. */
  cancelTask(id: string, options?: TaskRequestOptions): Promise<TaskJson>
  /** Queues the last dispatch again, if it failed or was cancelled. */
  retryTask(id: string, options?: TaskRequestOptions): Promise<TaskJson>
  /** Deletes a task, and moves its conversations to the trash. */
  deleteTask(id: string, options?: TaskRequestOptions): Promise<DeletedTasksJson>
  /** Deletes all tasks of a project, and moves its conversations to the trash. */
  deleteProject(project: string, options?: RequestOptions): Promise<DeletedTasksJson>
}

/** The methods for tasks over two functions of the client. */
export function taskMethods(
  get: <T>(path: string, request?: SendRequest) => Promise<T>,
  post: (body: unknown, options?: WriteOptions) => SendRequest,
): TaskClient {
  /** A request for one task, if it belongs to the project that is named. */
  function onTask<T>(
    id: string,
    path: string,
    { project, ...options }: TaskRequestOptions = {},
    query: object = {},
    method: NonNullable<SendRequest['method']> = 'GET',
  ): Promise<T> {
    return get(`/tasks/${encodeURIComponent(id)}${path}`, {
      method,
      query: { ...query, project },
      ...options,
    })
  }

  return {
    submitTask: (task, options) => get('/tasks', post(task, options)),
    listTasks: (query, options) => get('/tasks', { query: { ...query }, ...options }),
    getTask: (id, options) => onTask(id, '', options),
    listDispatches: (id, page, options) => onTask(id, '/dispatches', options, page),
    dispatchTask: (id, dispatch = {}, { project, ...options } = {}) =>
      get(`/tasks/${encodeURIComponent(id)}/dispatch`, {
        method: 'POST',
        body: dispatch,
        repeatable: dispatch.n !== undefined,
        query: { project },
        ...options,
      }),
    cancelTask: (id, options) => onTask(id, '/cancel', options, {}, 'POST'),
    retryTask: (id, options) => onTask(id, '/retry', options, {}, 'POST'),
    deleteTask: (id, options) => onTask(id, '', options, {}, 'DELETE'),
    deleteProject: (project, options) =>
      get(`/projects/${encodeURIComponent(project)}`, { method: 'DELETE', ...options }),
  }
}
