import { hostname } from 'node:os'
import { allowTools } from '../../agent/approval/approval.ts'
import { errorText } from '../../core/error-text.ts'
import type { Task } from '../../core/task.ts'
import type { DispatchEvent } from '../../dispatch/dispatch-event.ts'
import type { DispatchResult } from '../../dispatch/dispatch-result.ts'
import { createDispatcher } from '../../dispatch/dispatcher.ts'
import type { DispatcherOptions } from '../../dispatch/dispatcher-options.ts'
import { submitTaskTool } from '../../dispatch/submit-task-tool.ts'
import { createWorker, type DispatchWorker, type WorkerOptions } from '../../dispatch/worker.ts'
import {
  type Args,
  type CommandHandler,
  hasOption,
  textOption,
  textOptions,
} from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { demoNote } from '../model/choose-model.ts'
import { configuredTools } from '../model/configured-tools.ts'
import { callOptions } from '../model/model-settings.ts'
import { agentSettings, openModelSetup } from '../model/model-setup.ts'
import { cut } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import type { Output } from '../output/output.ts'
import { noteLine, printJson, printNote } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { formatDuration } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { durationOf } from './ls.ts'
import { taskName } from './task-commands.ts'

/** `skein dispatch work`: runs queued dispatches until Ctrl+C, or until the queue is empty. With `--json`,
 *  prints one line for each result. */
export const workCommand: CommandHandler = async (args, context) => {
  const workers = workersOf(textOption(args, 'workers'))
  const projects = textOptions(args, 'project')
  const { options, cleanUp, close } = await configuredDispatch(args, context)
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
      print(event, context)
    },
  })
  note(context, `${plural(workers, 'worker')} ready. Ctrl+C stops`)
  const stop = stopOnPresses(worker, context, () => running)
  try {
    await worker.ended
  } finally {
    stop[Symbol.dispose]()
    await close()
  }
  return failed > 0 && hasOption(args, 'until-idle') ? exitCode.failure : exitCode.ok
}

function workersOf(text: string | undefined): number {
  if (text === undefined) return 1
  const n = /^\d+$/.test(text) ? Number(text) : 0
  if (n < 1 || n > 256) throw new UsageError(`--workers takes a number from 1 to 256, not "${text}"`)
  return n
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

/** The options of a dispatcher by the flags and the configuration, and a function that stops the tools. */
interface ConfiguredDispatch {
  readonly options: DispatcherOptions
  /** How a worker cleans up. */
  readonly cleanUp: NonNullable<WorkerOptions['cleanUp']>
  close(): Promise<void>
}

/** Opens the model before the store is used: a missing key must not fail every task. */
async function configuredDispatch(args: Args, context: CommandContext): Promise<ConfiguredDispatch> {
  const { model, config, choice } = await openModelSetup(args, context)
  if (choice.from === 'nothing' && !context.quiet && !context.json)
    context.err.line(noteLine(demoNote, context.err))
  const store = await context.store()
  const opened = await configuredTools(config, context)
  const tools = await opened.on(store, model)
  const system = textOption(args, 'system')
  const timeout = textOption(args, 'timeout')
  const { sessionExpirationMs, expirationFrom } = config.conversation
  const agentFor = (task: Task) => ({
    id: 'skein',
    model,
    ...agentSettings(config, model.id, callOptions(args)),
    ...(system === undefined ? {} : { system }),
    // No person is there to ask.
    approve: allowTools(config.tools.allow),
    tools: { ...tools, submit_task: submitTaskTool({ tasks: store, parent: task }) },
  })
  return {
    options: {
      store,
      tasks: store,
      agentFor,
      expiry: { afterMs: sessionExpirationMs, from: expirationFrom },
      storesConversations: project => project === null || (config.projects[project]?.conversations ?? true),
      ...(timeout === undefined ? {} : { timeoutMs: durationOf('timeout', timeout) }),
    },
    cleanUp: { store, everyMs: config.conversation.cleanupIntervalMs },
    close: () => opened.close(),
  }
}
