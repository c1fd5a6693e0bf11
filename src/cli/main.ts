// `cli` is the command. This file is the composition root: it finds the command, parses its arguments, makes
// the `CommandContext` (output, clock, store on first use) and runs it.
// - `commands/`: every command as data: name, arguments, options, examples, and the file that runs it
// - `command-line/`: parsing, errors and exit codes; `output/`: everything that prints; `store/`, `target/`,
//   `model/`, `answer/`: what commands share: which store, which conversation, which model, printing an
//   answer
// - `ask/`, `chat/`, `read/`, `manage/`, `transfer/`, `repair/`, `set-up/`, `agent/`, `acp/`: the commands
// - `start/`: the entry of the built bundle (docs/decisions/0014). `ls`, `show` and `search` must start fast,
//   so a static import here is loaded by all of them
// May import every folder, and a store only through its port.

import type { Store } from '../core/ports.ts'
import { version } from '../system/version.ts'
import { hasOption, textOption } from './command-line/command.ts'
import type { CommandContext } from './command-line/command-context.ts'
import {
  errorReport,
  printErrorReport,
  type ReportOptions,
  reportError,
} from './command-line/error-report.ts'
import { exitCode } from './command-line/exit-code.ts'
import { exitSoon } from './command-line/exit-soon.ts'
import { checkFields, fieldNames } from './command-line/json-fields.ts'
import { onHangUp } from './command-line/on-hang-up.ts'
import { parseArgs } from './command-line/parse-args.ts'
import { UsageError } from './command-line/usage-error.ts'
import { findCommand, storeCommands } from './find-command.ts'
import { isTerminalAt, type Output, openOutput } from './output/output.ts'
import { openConfiguredStore } from './store/open-configured-store.ts'
import { hintForStore } from './store/skein-command.ts'
import { findStore, type StoreLocation } from './store/store-location.ts'

/** Runs the command line of this process. Sets the exit code; never throws. */
export async function main(): Promise<void> {
  const argv = process.argv.slice(2)
  const ours = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const debug = ours.includes('--debug')
  const json = ours.some(word => word === '--json' || word.startsWith('--json='))
  try {
    process.exitCode = await run(argv, { json, debug })
  } catch (error) {
    const err = openOutput(2, process.env, { noColor: ours.includes('--no-color'), onLost })
    process.exitCode = reportError(error, err, { json, debug })
  }
}

/** The name under which the start keeps the compiled code of this command: other functions print on a
 *  terminal than into a pipe. Null in incognito mode, which writes nothing, and for a line with an error. */
export function commandName(): string | null {
  try {
    const { command, rest } = findCommand(process.argv.slice(2))
    if (hasOption(parseArgs(command, rest), 'incognito')) return null
    return `${command.name || 'prompt'}${isTerminalAt(1) ? ' on a terminal' : ''}`
  } catch {
    return null
  }
}

/** A closed pipe is not a failure: the reader, such as head, has seen enough. */
function onLost(error: Error): void {
  process.exit('code' in error && error.code === 'EPIPE' ? exitCode.ok : exitCode.failure)
}

/** How long an answer may take to be stored after its reader has closed the pipe or the terminal. Longer than
 *  a command waits for a locked store, twice, before it writes what is not saved to a file. */
const patienceMs = 15_000

async function run(argv: readonly string[], how: ReportOptions): Promise<number> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    openOutput(1, process.env, { onLost }).line(`skein ${version()}`)
    return exitCode.ok
  }
  const { command, rest, wantsHelp, calledAs } = findCommand(argv)
  if (wantsHelp) {
    const { commandHelp: helpOf, helpOverview: overview } = await import('./help.ts')
    const out = openOutput(1, process.env, { onLost })
    const columns = out.isTerminal ? out.width : undefined
    out.write(command.name === '' ? overview(columns) : helpOf(command, columns))
    return exitCode.ok
  }
  const args = { ...parseArgs(command, rest), ...(calledAs !== undefined && { calledAs }) }
  let isLost = false
  const outputOptions = {
    noColor: hasOption(args, 'no-color'),
    onLost(error: Error): void {
      // A command that only reads can exit at once. An answer is stored first.
      if (isLost) return
      if (command.group !== 'Talk') onLost(error)
      isLost = true
      end()
      setTimeout(() => onLost(error), patienceMs).unref()
    },
  }
  let found: StoreLocation | undefined
  let opening: Promise<Store> | undefined
  const stop = makeStop()
  const end = () => stop.now()
  const terminate = () => {
    end()
    // An answer is stored first.
    if (command.group !== 'Talk') exitSoon()
  }
  // Only for commands that use the signal. Without a handler the process ends at once, also while it is
  // blocked by a full pipe, where no handler could run.
  const watch = () => {
    if (process.listeners('SIGTERM').includes(terminate)) return
    process.once('SIGTERM', terminate)
    onHangUp(terminate)
  }
  if (command.group === 'Talk') watch()
  const cwd = workingDirectory()
  const err = openOutput(2, process.env, outputOptions)
  const context: CommandContext = {
    env: process.env,
    cwd,
    now: () => Date.now(),
    // Created on first use: most commands do not read stdin.
    get stdin() {
      return process.stdin
    },
    out: withFields(openOutput(1, process.env, outputOptions), textOption(args, 'json')),
    err,
    canAsk: err.isTerminal && isTerminalAt(0),
    json: hasOption(args, 'json'),
    quiet: hasOption(args, 'quiet'),
    get signal() {
      watch()
      return stop.signal
    },
    location() {
      found ??= findStore(textOption(args, 'db'), process.env, cwd)
      return found
    },
    store(memory) {
      opening ??= unlessStopped(
        (async () => openConfiguredStore(context.location().target, cwd, process.env, memory))(),
        stop,
      )
      // A store that is away may be back the next time.
      opening.catch(() => {
        opening = undefined
      })
      return opening
    },
  }
  try {
    const runCommand = await command.load()
    const code = await runCommand(args, context)
    return isLost ? exitCode.ok : code
  } catch (error) {
    const store = await opening?.catch(() => undefined)
    const problem = store
      ? await (await import('./target/explain-error.ts')).explainError(error, args.arguments, store, context)
      : errorReport(error)
    const hint = hintForStore(problem.hint, storeCommands, context)
    return printErrorReport({ ...problem, hint }, error, context.err, how)
  } finally {
    process.removeListener('SIGTERM', terminate)
    // The shell and the system may both say that the terminal is closed. The second signal must not end the
    // process while it closes the store.
    if (!stop.isStopped) process.removeListener('SIGHUP', terminate)
    const store = await opening?.catch(() => undefined)
    await store?.close()
    // Everything is stored. An unfinished attempt to open the store must not delay the end.
    if (stop.isStopped) exitSoon()
  }
}

/** Waits for the store to be opened, but not after the command was stopped: another process may have locked
 *  it for longer. */
function unlessStopped(opening: Promise<Store>, stop: Stop): Promise<Store> {
  const { promise, resolve, reject } = Promise.withResolvers<Store>()
  opening.then(resolve, reject)
  stop.onStopped = () => reject(interrupted())
  return promise.finally(() => {
    stop.onStopped = null
  })
}

function interrupted(): DOMException {
  return new DOMException('interrupted', 'AbortError')
}

function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    throw new UsageError('the working directory was deleted', 'Go to another one: cd')
  }
}

/** Aborts the running command. */
interface Stop {
  readonly signal: AbortSignal
  readonly isStopped: boolean
  now(): void
  /** Called by `now`, for waiting without a signal. */
  onStopped: (() => void) | null
}

/** Creates the signal on first use: most commands do not need one. */
function makeStop(): Stop {
  let controller: AbortController | undefined
  let isStopped = false
  const abort = () => controller?.abort(interrupted())
  return {
    get signal() {
      if (!controller) {
        controller = new AbortController()
        if (isStopped) abort()
      }
      return controller.signal
    },
    get isStopped() {
      return isStopped
    },
    now() {
      isStopped = true
      abort()
      this.onStopped?.()
    },
    onStopped: null,
  }
}

type Fields = { readonly [name: string]: unknown }

/** An output that prints only the named fields of each JSON value: `--json=id,title`. Without names, the
 *  output itself. */
function withFields(output: Output, named: string | undefined): Output {
  if (named === undefined) return output
  const names = fieldNames(named)
  // Inherits everything but `line` from the output.
  return Object.create(output, {
    line: {
      value: (text = '') =>
        output.line(JSON.stringify(picked(JSON.parse(text), names), null, output.isTerminal ? 2 : undefined)),
    },
  }) as Output
}

/** The named fields of an object, or of each object in a list. Throws UsageError for an unknown field, with
 *  the known ones. */
function picked(value: unknown, names: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map(one => picked(one, names))
  if (typeof value !== 'object' || value === null) return value
  const fields = value as Fields
  checkFields(names, Object.keys(fields))
  return Object.fromEntries(names.map(name => [name, fields[name]]))
}
