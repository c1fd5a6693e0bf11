import type { DispatchResult } from '../../dispatch/dispatch-result.ts'
import { createDispatcher } from '../../dispatch/dispatcher.ts'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { printJson, printNote } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { configuredDispatch } from './configured-dispatch.ts'
import { eventLine } from './event-line.ts'
import { taskName } from './show.ts'

/** `skein dispatch run <task> [words…]`: runs a dispatch in this process and prints its answer. */
export const dispatchRunCommand: CommandHandler = async (args, context) => {
  const [task = '', ...words] = args.arguments
  const { options, close } = await configuredDispatch(args, context)
  using stop = stopOnInterrupt(context)
  try {
    const result = await createDispatcher(options).run(
      taskName(task),
      words.length === 0 ? undefined : words.join(' '),
      {
        worker: `run-${process.pid}`,
        onBusy: hasOption(args, 'no-wait') ? 'refuse' : 'wait',
        signal: stop.signal,
        onEvent: event => {
          const line = event.type === 'ended' ? null : eventLine(event, context.err)
          if (line !== null && !context.quiet && !context.json) context.err.line(line)
        },
      },
    )
    return print(result, taskName(task), context)
  } finally {
    await close()
  }
}

function print(result: DispatchResult | null, task: string, context: CommandContext): number {
  const { out } = context
  if (result === null) {
    if (context.json) printJson(context, null)
    printNote(context, `given back. Continue: ${skeinCommand(context)} dispatch run ${task}`)
    return exitCode.interrupted
  }
  if (context.json) printJson(context, { ...result, error: result.error ?? null })
  else {
    if (result.response !== '') out.line(out.style.safe(result.response))
    if (result.error !== undefined) printNote(context, `failed: ${result.error}`)
    if (result.conversation_id !== null)
      printNote(context, `task ${task} ${out.style.symbols.dot} ${shortenId(result.conversation_id)}`)
  }
  return result.success ? exitCode.ok : exitCode.failure
}
