import { taskJson } from '../../api/task.ts'
import type { ListTasks, Task, TaskKeeper, TaskStatus } from '../../core/task.ts'
import { taskStatuses } from '../../core/task.ts'
import { sleep } from '../../system/sleep.ts'
import {
  type Args,
  type CommandHandler,
  hasOption,
  limitOption,
  textOption,
} from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatInteger } from '../output/number.ts'
import { printJson, printNote } from '../output/print.ts'
import { tableLines } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { durationOf } from './dispatch-options.ts'

/** How often `--watch` looks for changes. */
const watchMs = 1_000

/** `skein dispatch ls`: lists tasks. Newest last on a terminal, as `skein ls`; newest first otherwise. */
export const dispatchListCommand: CommandHandler = (args, context) => {
  const limit = limitOption(args, 20, 1_000)
  const filter = filterOf(args, context)
  return withStore(context, async store => {
    if (!hasOption(args, 'watch')) {
      print((await store.listTasks({ ...filter, limit })).items, context)
      return exitCode.ok
    }
    return watch(store, { ...filter, limit }, context)
  })
}

async function watch(
  store: Pick<TaskKeeper, 'listTasks'>,
  filter: ListTasks,
  context: CommandContext,
): Promise<number> {
  using stop = stopOnInterrupt(context)
  let last = ''
  while (!stop.signal.aborted) {
    const { items } = await store.listTasks(filter)
    const news = JSON.stringify(items)
    if (news !== last) {
      if (last !== '' && context.out.isTerminal && !context.json) context.out.line()
      print(items, context)
    }
    last = news
    await sleep(watchMs, stop.signal).catch(() => undefined)
  }
  return exitCode.ok
}

function print(tasks: readonly Task[], context: CommandContext): void {
  const { out } = context
  if (context.json) {
    printJson(context, tasks.map(taskJson))
    return
  }
  const oneLine = (text: string) => out.style.safe(text).replace(/\s+/g, ' ')
  if (!out.isTerminal) {
    for (const { id, status, project, dispatches, createdAt, description } of tasks) {
      const cells = [oneLine(id), status, oneLine(project ?? ''), dispatches, createdAt.toISOString()]
      out.line([...cells, oneLine(description)].join('\t'))
    }
    return
  }
  if (tasks.length === 0) {
    printNote(context, `there are no tasks. Submit one: ${skeinCommand(context)} dispatch submit "…"`)
    return
  }
  const rows = tasks
    .toReversed()
    .map(({ id, status, project, dispatches, createdAt, description }) => [
      oneLine(id),
      status,
      oneLine(project ?? ''),
      oneLine(description),
      formatInteger(dispatches),
      formatAge(createdAt, context.now()),
    ])
  const columns = [
    { header: 'TASK', shrinksTo: 8, paint: out.style.id },
    { header: 'STATE' },
    { header: 'PROJECT', shrinksTo: 6 },
    { header: 'DESCRIPTION', shrinksTo: 12, grows: true },
    { header: 'RUNS', align: 'right' },
    { header: 'AGE', align: 'right' },
  ] as const
  const options = { dots: out.style.symbols.dots, paintHeader: out.style.faint }
  for (const line of tableLines(rows, columns, out.width, options)) out.line(line)
}

function filterOf(args: Args, context: CommandContext): ListTasks {
  const [project, status] = [textOption(args, 'project'), textOption(args, 'status')]
  if (status !== undefined && !taskStatuses.includes(status as TaskStatus))
    throw new UsageError(`--status: "${status}" is not a state`, `One of ${taskStatuses.join(', ')}`)
  const before = ago(args, 'older-than', context)
  const from = ago(args, 'newer-than', context)
  return {
    ...(project === undefined ? {} : { project }),
    ...(status === undefined ? {} : { status: status as TaskStatus }),
    ...(before === null ? {} : { createdBefore: before }),
    ...(from === null ? {} : { createdFrom: from }),
  }
}

function ago(args: Args, name: string, context: CommandContext): Date | null {
  const text = textOption(args, name)
  if (text === undefined) return null
  return new Date(Math.max(0, context.now() - durationOf(name, text)))
}
