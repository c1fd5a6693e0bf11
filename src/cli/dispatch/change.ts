import type { Task, TaskKeeper } from '../../core/task.ts'
import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { printJson } from '../output/print.ts'
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
