import { AmbiguousIdError } from './errors.ts'
import type { ListedConversation } from './listing.ts'
import type { Lister } from './ports.ts'

/** The newest conversation of a task that is named without its project, or null. Throws AmbiguousIdError if
 *  several projects have a task with this id. */
export async function newestOfTask(
  store: Pick<Lister, 'listConversations'>,
  filter: { readonly task: string; readonly project?: string },
  typed: string = filter.task,
): Promise<ListedConversation | null> {
  const { items } = await store.listConversations({ ...filter, limit: 100 })
  const newest = [...Map.groupBy(items, ({ project }) => project).values()].map(([one]) => one!)
  if (newest.length <= 1) return newest[0] ?? null
  const matches = newest.slice(0, 10).map(({ id }) => ({ kind: 'conversation', id }) as const)
  throw new AmbiguousIdError(typed, matches)
}

/** What `task:T-1` or `task:web/T-1` refers to: the newest conversation of the task. Null if the text has
 *  another form, or if there is no such conversation. Throws AmbiguousIdError. */
export async function findTaskTarget(
  store: Pick<Lister, 'listConversations'>,
  text: string,
): Promise<ListedConversation | null> {
  if (!text.startsWith('task:')) return null
  const name = text.slice('task:'.length)
  if (name === '') return null
  const found = await newestOfTask(store, { task: name }, text)
  const slash = name.indexOf('/')
  if (found || slash <= 0 || slash === name.length - 1) return found
  return newestOfTask(store, { project: name.slice(0, slash), task: name.slice(slash + 1) }, text)
}
