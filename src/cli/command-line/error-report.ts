import { errorText } from '../../core/error-text.ts'
import {
  AmbiguousIdError,
  BusyError,
  type Holder,
  InvalidError,
  MisconfiguredError,
  MissingKeyError,
  NotFoundError,
  SkeinError,
} from '../../core/errors.ts'
import type { Output } from '../output/output.ts'
import { noteLine } from '../output/print.ts'
import { wrapForTerminal } from '../output/wrap.ts'
import { exitCode, exitCodeOf } from './exit-code.ts'
import { UsageError } from './usage-error.ts'

/** An error for the user: what happened, and what to do. */
export interface ErrorReport {
  readonly code: string
  readonly message: string
  readonly hint: string
  /** The ids that may have been meant, in full. */
  readonly candidates: readonly string[]
  /** The lines to list for people. Default: the candidates. */
  readonly lines?: readonly string[]
  readonly exit: number
}

/** The report of an error, for people and programs. */
export function errorReport(error: unknown): ErrorReport {
  if (error instanceof UsageError) {
    return { code: 'usage', message: error.message, hint: error.hint, candidates: [], exit: exitCode.usage }
  }
  if (error instanceof SkeinError) {
    const { code } = error
    const message = messageOf(error)
    return { code, message, hint: hintFor(error), candidates: candidatesOf(error), exit: exitCodeOf[code] }
  }
  if (error instanceof Error && error.name === 'AbortError') {
    return {
      code: 'interrupted',
      message: 'interrupted',
      hint: '',
      candidates: [],
      exit: exitCode.interrupted,
    }
  }
  return { code: 'failure', message: errorText(error), hint: '', candidates: [], exit: exitCode.failure }
}

function messageOf(error: SkeinError): string {
  if (error instanceof NotFoundError && error.kind === 'id') return unknownName(error.id)
  if (error instanceof InvalidError && error.field === 'id') return error.message.replace(/^id: /, '')
  if (error instanceof BusyError && error.holder) return busyText(error, error.holder)
  if (!(error instanceof AmbiguousIdError)) return error.message
  const { prefix, candidates } = error
  return isTitle(error)
    ? `${candidates.length} conversations have the title ${JSON.stringify(prefix)}`
    : `${prefix} matches ${candidates.length} ids`
}

/** Whether several conversations have the same title, and not several ids the same beginning. */
function isTitle({ prefix, candidates }: AmbiguousIdError): boolean {
  return !candidates.some(({ id }) => id.startsWith(prefix.toLowerCase()))
}

/** A short word may be the beginning of an id, which the store does not accept. */
function unknownName(word: string): string {
  const shown = word.length > 100 ? `${word.slice(0, 100)}…` : word
  return /^[a-z0-9]{1,5}$/i.test(word)
    ? `${JSON.stringify(word)} is too short: ids need at least 6 characters`
    : `no conversation, branch or message matches ${/\s/.test(shown) ? JSON.stringify(shown) : shown}`
}

/** `another process (pid 4121 on desk) holds branch "main" for at most 25 s`. */
function busyText({ what, leaseUntil }: BusyError, { pid, host }: Holder): string {
  const seconds = leaseUntil === null ? 0 : Math.ceil((leaseUntil.getTime() - Date.now()) / 1_000)
  const until = seconds > 0 ? ` for at most ${seconds} s` : ''
  return `another process (pid ${pid} on ${host.split('/', 1)[0]}) holds ${what}${until}`
}

function hintFor(error: SkeinError): string {
  switch (error.code) {
    case 'not_found':
      if (error instanceof NotFoundError && error.kind === 'task') return 'skein dispatch ls lists tasks'
      if (error instanceof NotFoundError && error.kind === 'approval')
        return 'skein approvals lists the calls that wait'
      if (error instanceof NotFoundError && error.kind === 'token') return 'skein token ls lists tokens'
      return 'skein ls lists conversations, skein search finds messages'
    case 'ambiguous_id':
      return error instanceof AmbiguousIdError && isTitle(error) ? 'Type an id' : 'Type more characters'
    case 'missing_key':
      return missingKeyHint(error)
    case 'busy':
      return 'Try again, or: skein doctor'
    case 'unavailable':
      return error.hint ?? 'Try again, or: skein doctor'
    case 'key_reused':
      return error.hint === null ? '' : `${error.hint}, or continue that one with -c`
    case 'misconfigured':
      return error instanceof MisconfiguredError && error.part === 'path'
        ? 'Use another place: --db <file>'
        : (error.hint ?? '')
    case 'corrupt':
      return error.hint ?? 'To find all damage: skein verify'
    case 'schema_too_new':
      return 'Nothing was changed. Update: npm i -g skein'
    default:
      return error.hint ?? ''
  }
}

function missingKeyHint(error: SkeinError): string {
  const store =
    error instanceof MissingKeyError ? `To keep it: skein config keys set ${error.provider}. ` : ''
  return `${store}To chat without a key: skein -n -m scripted`
}

function candidatesOf(error: SkeinError): readonly string[] {
  return error instanceof AmbiguousIdError ? error.candidates.map(({ id }) => id) : []
}

/** Notes to print below an error, such as what is saved although it happened. */
const notes = new WeakMap<object, string>()

/** Prints a note below the report of an error. */
export function noteBelow(error: unknown, note: string): void {
  if (typeof error === 'object' && error !== null) notes.set(error, note)
}

/** Prints an error to stderr: `skein: what happened. what to do`. Returns the exit code. */
export function reportError(error: unknown, err: Output, how: ReportOptions = {}): number {
  return printErrorReport(errorReport(error), error, err, how)
}

export interface ReportOptions {
  readonly json?: boolean
  /** Also prints the stack. */
  readonly debug?: boolean
}

/** Prints a report that may know more than its error. */
export function printErrorReport(
  problem: ErrorReport,
  error: unknown,
  err: Output,
  { json = false, debug = false }: ReportOptions = {},
): number {
  const { code, message, hint, candidates, lines = candidates } = problem
  if (json) {
    err.line(JSON.stringify({ error: { code, message, hint: hint || null, candidates } }))
    return problem.exit
  }
  // The user who interrupts a command needs no message.
  if (problem.exit === exitCode.interrupted && !debug) return problem.exit
  const { style } = err
  const sentence = style.safe(message).replace(/[.:]$/, '')
  const next = hint === '' ? '' : `. ${hint}${lines.length > 0 ? ':' : ''}`
  err.line(wrapForTerminal(`${style.failed('skein:')} ${sentence}${next}`, err))
  for (const line of lines) err.line(`  ${line}`)
  const note = error instanceof Error ? notes.get(error) : undefined
  if (note !== undefined) err.line(noteLine(note, err))
  if (debug && error instanceof Error && error.stack) err.line(style.safe(error.stack))
  return problem.exit
}
