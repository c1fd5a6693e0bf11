import { collectPages } from '../../core/pages.ts'
import type { Dispatch, Task } from '../../core/task.ts'
import type { CommandHandler } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { printJson, printNote } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { formatDuration, formatTime } from '../output/time.ts'
import { wrapForTerminal } from '../output/wrap.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { dispatchJson, taskJson } from './task-json.ts'

/** `skein dispatch show <task>`: a task with its dispatches. */
export const dispatchShowCommand: CommandHandler = (args, context) =>
  withStore(context, async store => {
    const task = await store.getTask(taskName(args.arguments[0]!))
    const dispatches = await collectPages(page => store.listDispatches(task.id, page))
    if (context.json) printJson(context, { ...taskJson(task), runs: dispatches.map(dispatchJson) })
    else print(task, dispatches, context)
    return exitCode.ok
  })

/** The id of a task as a user types it: also `task:T-1`. */
export function taskName(word: string): string {
  return word.startsWith('task:') ? word.slice('task:'.length) : word
}

function print(task: Task, dispatches: readonly Dispatch[], context: CommandContext): void {
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
