import { text as readText } from 'node:stream/consumers'
import { metadataValue } from '../../api/metadata-value.ts'
import { dispatchJson, taskJson } from '../../api/task.ts'
import { collectPages } from '../../core/pages.ts'
import type { DeletedTasks, Dispatch, Task, TaskKeeper } from '../../core/task.ts'
import { type CommandHandler, hasOption, textOption, textOptions } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { splitAssignment } from '../command-line/metadata-option.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { plural } from '../output/number.ts'
import { printJson, printNote } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { formatDuration, formatTime } from '../output/time.ts'
import { wrapForTerminal } from '../output/wrap.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'

/** `skein dispatch show <task>`: a task with its dispatches. */
export const dispatchShowCommand: CommandHandler = (args, context) =>
  withStore(context, async store => {
    const task = await store.getTask(taskName(args.arguments[0]!))
    const dispatches = await collectPages(page => store.listDispatches(task.id, page))
    if (context.json) printJson(context, { ...taskJson(task), runs: dispatches.map(dispatchJson) })
    else printTask(task, dispatches, context)
    return exitCode.ok
  })

/** The id of a task as a user types it: also `task:T-1`. */
export function taskName(word: string): string {
  return word.startsWith('task:') ? word.slice('task:'.length) : word
}

function printTask(task: Task, dispatches: readonly Dispatch[], context: CommandContext): void {
  const { out } = context
  const { safe, faint, id } = out.style
  const line = (name: string, value: string) =>
    out.line(wrapForTerminal(`${faint(name.padEnd(13))}${safe(value)}`, out))
  out.line(`${id(safe(task.id))}  ${task.status}`)
  line('description', task.description)
  if (task.context !== null) line('context', task.context)
  if (task.project !== null) line('project', task.project)
  if (task.parent !== null) line('parent', task.parent)
  line('submitted', formatTime(task.createdAt))
  if (task.conversationId !== null) line('conversation', shortenId(task.conversationId))
  for (const dispatch of dispatches) {
    out.line()
    out.line(`${id(`#${dispatch.n}`)}  ${stateOf(dispatch)}`)
    if (dispatch.words !== null) line('words', dispatch.words)
    if (dispatch.worker !== null) line('worker', dispatch.worker)
    line('attempts', String(dispatch.attempts))
    if (dispatch.startedAt && dispatch.endedAt)
      line('took', formatDuration(dispatch.endedAt.getTime() - dispatch.startedAt.getTime()))
    if (dispatch.error !== null) line('error', dispatch.error)
    const response = dispatch.result?.response
    if (typeof response === 'string' && response !== '') line('result', response)
  }
  if (task.conversationId !== null)
    printNote(context, `its conversation: ${skeinCommand(context)} show ${shortenId(task.conversationId)}`)
}

function stateOf({ status, cancelRequested, leaseUntil, deaths }: Dispatch): string {
  const notes = [
    ...(cancelRequested ? ['asked to stop'] : []),
    ...(leaseUntil === null ? [] : [`claimed until ${formatTime(leaseUntil)}`]),
    ...(deaths === 0 ? [] : [`its worker died ${deaths} times in a row`]),
  ]
  return [status, ...notes].join(', ')
}

/** `skein dispatch retry <task>…`. */
export const retryCommand: CommandHandler = change((store, id) => store.retryTask(id))

/** `skein dispatch cancel <task>…`. */
export const cancelCommand: CommandHandler = change((store, id) => store.cancelTask(id))

function change(
  one: (store: Pick<TaskKeeper, 'retryTask' | 'cancelTask'>, id: string) => Promise<Task>,
): CommandHandler {
  return (args, context) =>
    withStore(context, async store => {
      const changed: Task[] = []
      const failures: unknown[] = []
      for (const word of args.arguments) {
        try {
          changed.push(await one(store, taskName(word)))
        } catch (error) {
          failures.push(error)
        }
      }
      if (changed.length === 0 && failures.length > 0) throw failures[0]
      if (context.json) printJson(context, changed.map(taskJson))
      else
        for (const { id, status } of changed) {
          const state = status === 'running' ? 'asked to stop' : status
          context.out.line(`${context.out.style.safe(id)}\t${state}`)
        }
      // The others are changed nevertheless.
      if (failures.length > 0) throw failures[0]
      return exitCode.ok
    })
}

/** `skein dispatch rm`: deletes tasks or a project, and moves their conversations to the trash. */
export const dispatchRemoveCommand: CommandHandler = (args, context) => {
  const project = textOption(args, 'project')
  const ids = args.arguments.map(taskName)
  if ((project === undefined) === (ids.length === 0))
    throw new UsageError('dispatch rm needs a task, or --project', 'skein dispatch rm --help')
  return withStore(context, async store => {
    if (project !== undefined && !hasOption(args, 'yes')) {
      if (!context.canAsk)
        throw new UsageError('this deletes the whole project', 'Add --yes if that is what you want')
      if (!(await confirm(`Delete all tasks and conversations of ${project}?`, context)))
        return exitCode.failure
    }
    const removed: DeletedTasks[] = []
    if (project !== undefined) removed.push(await store.deleteProject(project))
    else for (const id of ids) removed.push(await store.deleteTask(id))
    const tasks = removed.reduce((sum, one) => sum + one.tasks, 0)
    const trashed = removed.flatMap(one => one.trashed)
    if (context.json) printJson(context, { tasks, trashed })
    else {
      const kept = trashed.length === 0 ? '' : `. Back: ${skeinCommand(context)} restore <id>`
      const text = `deleted ${plural(tasks, 'task')}, moved ${plural(trashed.length, 'conversation')} to the trash`
      printNote(context, `${text}${kept}`)
    }
    return exitCode.ok
  })
}

/** `skein dispatch submit`: stores a task and queues its first dispatch. */
export const submitCommand: CommandHandler = async (args, context) => {
  const words = args.arguments.join(' ')
  const description = words === '' && !context.stdin.isTTY ? await readText(context.stdin) : words
  if (description.trim() === '')
    throw new UsageError('there is nothing to do', 'Describe the task: skein dispatch submit "…"')
  const fields = textOptions(args, 'metadata').map(text => splitAssignment(text))
  const metadata = Object.fromEntries(fields.map(([key, value]) => [key, metadataValue(value)]))
  const [id, project, parent] = (['id', 'project', 'parent'] as const).map(name => textOption(args, name))
  const about = textOption(args, 'context')
  const store = await context.store()
  const task = await store.submitTask({
    description: description.trim(),
    ...(id === undefined ? {} : { id }),
    ...(project === undefined ? {} : { project }),
    ...(parent === undefined ? {} : { parent }),
    ...(about === undefined ? {} : { context: about }),
    metadata,
  })
  if (context.json) printJson(context, taskJson(task))
  else {
    context.out.line(context.out.style.safe(task.id))
    printNote(context, `task ${task.id}, ${task.status}. Do it: ${skeinCommand(context)} dispatch work`)
  }
  return exitCode.ok
}
