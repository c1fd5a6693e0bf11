import { text as readText } from 'node:stream/consumers'
import { metadataValue } from '../../api/metadata-value.ts'
import type { DeletedTasks, Task, TaskKeeper } from '../../core/task.ts'
import { type CommandHandler, hasOption, textOption, textOptions } from '../command-line/command.ts'
import { confirm } from '../command-line/confirm.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { splitAssignment } from '../command-line/metadata-option.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { plural } from '../output/number.ts'
import { printJson, printNote } from '../output/print.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { taskName } from './show.ts'
import { taskJson } from './task-json.ts'

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
      for (const word of args.arguments) changed.push(await one(store, taskName(word)))
      if (context.json) printJson(context, changed.map(taskJson))
      else
        for (const { id, status } of changed) {
          const state = status === 'running' ? 'asked to stop' : status
          context.out.line(`${context.out.style.safe(id)}\t${state}`)
        }
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
  const fields = textOptions(args, 'metadata').map(splitAssignment)
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
