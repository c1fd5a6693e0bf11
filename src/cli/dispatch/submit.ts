import { text as readText } from 'node:stream/consumers'
import { metadataValue } from '../../api/metadata-value.ts'
import { type CommandHandler, textOption, textOptions } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { splitAssignment } from '../command-line/metadata-option.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { printJson, printNote } from '../output/print.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { taskJson } from './task-json.ts'

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
