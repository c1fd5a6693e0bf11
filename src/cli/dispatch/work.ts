import { hostname } from 'node:os'
import { listenAddress } from '../../config/server-settings.ts'
import { errorText } from '../../core/error-text.ts'
import type { DispatchEvent } from '../../dispatch/dispatch-event.ts'
import type { DispatchResult } from '../../dispatch/dispatch-result.ts'
import { createDispatcher } from '../../dispatch/dispatcher.ts'
import { createWorker, type DispatchWorker } from '../../dispatch/worker.ts'
import { type CommandHandler, hasOption, textOption, textOptions } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import type { Output } from '../output/output.ts'
import { printJson, printNote } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { formatDuration } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { configuredDispatch } from './configured-dispatch.ts'
import { workersOf } from './dispatch-options.ts'
import { type MetricsServer, serveMetrics } from './serve-metrics.ts'
import { taskName } from './task-commands.ts'

/** `skein dispatch work`: runs queued dispatches until Ctrl+C, or until the queue is empty. With `--json`,
 *  prints one line for each result. */
export const workCommand: CommandHandler = async (args, context) => {
  const workers = workersOf(textOption(args, 'workers'))
  const projects = textOptions(args, 'project')
  const { options, cleanUp, close } = await configuredDispatch(args, context)
  const metrics = await metricsOf(textOption(args, 'metrics'))
  let failed = 0
  let running = 0
  const worker = createWorker({
    ...options,
    ...(projects.length === 0 ? {} : { projects }),
    workers,
    cleanUp,
    name: textOption(args, 'name') ?? `${hostname()}-${process.pid}`,
    untilIdle: hasOption(args, 'until-idle'),
    onEvent: event => {
      running += runningChange(event)
      if (event.type === 'ended' && !event.result.success) failed++
      metrics?.onEvent(event)
      print(event, context)
    },
  })
  if (metrics) note(context, `metrics: ${metrics.url}`)
  note(context, `${plural(workers, 'worker')} ready. Ctrl+C stops`)
  const stop = stopOnPresses(worker, context, () => running)
  try {
    await worker.ended
  } finally {
    stop[Symbol.dispose]()
    await metrics?.close()
    await close()
  }
  return failed > 0 && hasOption(args, 'until-idle') ? exitCode.failure : exitCode.ok
}

async function metricsOf(text: string | undefined): Promise<MetricsServer | null> {
  if (text === undefined) return null
  const address = listenAddress(text)
  if (address instanceof Error) throw new UsageError(`--metrics: ${JSON.stringify(text)} ${address.message}`)
  return serveMetrics(address)
}

function runningChange({ type }: DispatchEvent): number {
  if (type === 'started') return 1
  return type === 'ended' || type === 'released' || type === 'lost' ? -1 : 0
}

function print(event: DispatchEvent, context: CommandContext): void {
  const { out, err, json, quiet } = context
  if (json) {
    if (event.type === 'ended')
      out.line(JSON.stringify({ ...event.result, error: event.result.error ?? null }))
    return
  }
  const line = eventLine(event, out)
  if (line === null) return
  if (event.type === 'ended') out.line(line)
  else if (!quiet) err.line(line)
}

function note({ err, json, quiet }: CommandContext, text: string): void {
  if (!quiet && !json) err.line(err.style.faint(text))
}

/** The first Ctrl+C claims nothing more and finishes what runs, the second one gives it back. SIGTERM gives
 *  it back at once. */
function stopOnPresses(worker: DispatchWorker, context: CommandContext, running: () => number): Disposable {
  let presses = 0
  const giveBack = () => void worker.stop()
  const press = () => {
    if (++presses > 1) return giveBack()
    const count = running()
    if (count > 0)
      note(
        context,
        `finishing ${plural(count, 'dispatch', 'dispatches')}. Ctrl+C again gives ${count === 1 ? 'it' : 'them'} back`,
      )
    void worker.stop({ finishWithinMs: 2 ** 31 - 1 })
  }
  process.on('SIGINT', press)
  context.signal.addEventListener('abort', giveBack, { once: true })
  if (context.signal.aborted) giveBack()
  return {
    [Symbol.dispose]: () => {
      process.removeListener('SIGINT', press)
      context.signal.removeEventListener('abort', giveBack)
    },
  }
}

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
    return printResult(result, taskName(task), context)
  } finally {
    await close()
  }
}

function printResult(result: DispatchResult | null, task: string, context: CommandContext): number {
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

/** One line about an event of a worker, or null if it is not shown. */
function eventLine(event: DispatchEvent, output: Output): string | null {
  const text = textOf(event)
  if (text === null) return null
  const line = output.style.safe(text).replace(/\s+/g, ' ')
  return output.isTerminal ? cut(line, output.width, output.style.symbols.dots) : line
}

function textOf(event: DispatchEvent): string | null {
  switch (event.type) {
    case 'started': {
      const { task, dispatch } = event
      return `${task.id} #${dispatch.n} started by ${dispatch.worker}: ${dispatch.words ?? task.description}`
    }
    case 'ended': {
      const { dispatch, result, ranMs } = event
      const said = result.error ?? result.response
      return `${dispatch.task} #${dispatch.n} ${dispatch.status} in ${formatDuration(ranMs)}: ${said}`
    }
    case 'released':
      return `${event.task.id} #${event.n} given back`
    case 'lost':
      return `${event.task.id} #${event.n} was taken by another worker`
    case 'reclaimed': {
      const { task, n, status } = event.dispatch
      return `${task} #${n} ${status} again: its worker died`
    }
    case 'swept': {
      const { trashed } = event.receipt
      return trashed.length === 0
        ? null
        : `${plural(trashed.length, 'expired conversation')} moved to the trash`
    }
    case 'trouble':
      return `could not ${event.what}: ${errorText(event.error)}`
    case 'agent':
      return event.event.type === 'tool_started' ? `${event.task.id} runs ${event.event.name}` : null
    default:
      return event satisfies never
  }
}
