import { AmbiguousIdError, SkeinError } from '../core/errors.ts'
import { exit, exitOf } from './exit.ts'
import type { Paper } from './terminal/paper.ts'
import { UsageError } from './usage-error.ts'

/** What went wrong, in one line, and what to do. */
export interface Problem {
  readonly code: string
  readonly message: string
  readonly hint: string
  readonly candidates: readonly string[]
  readonly exit: number
}

/** An error as people and programs are told of it. */
export function problemOf(error: unknown): Problem {
  if (error instanceof UsageError) {
    return { code: 'usage', message: error.message, hint: error.hint, candidates: [], exit: exit.usage }
  }
  if (error instanceof SkeinError) {
    const { code, message } = error
    return { code, message, hint: hintFor(error), candidates: candidatesOf(error), exit: exitOf[code] }
  }
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Error && error.name === 'AbortError') {
    return { code: 'interrupted', message: 'interrupted', hint: '', candidates: [], exit: exit.interrupted }
  }
  return { code: 'failure', message, hint: '', candidates: [], exit: exit.failure }
}

function hintFor(error: SkeinError): string {
  switch (error.code) {
    case 'not_found':
      return 'skein ls lists what is there, skein search finds what was said'
    case 'ambiguous_id':
      return 'Say more of it'
    case 'missing_key':
      return 'Without a key: -m scripted'
    case 'busy':
    case 'unavailable':
      return 'Try again, or: skein doctor'
    case 'read_only':
      return 'Reading works'
    case 'schema_too_new':
      return 'Nothing was changed'
    default:
      return ''
  }
}

function candidatesOf(error: SkeinError): readonly string[] {
  return error instanceof AmbiguousIdError ? error.candidates.map(({ kind, id }) => `${id}  ${kind}`) : []
}

/** Says it on stderr: `skein: what happened. what to do`. */
export function report(error: unknown, err: Paper, { json = false, debug = false } = {}): number {
  const problem = problemOf(error)
  const { code, message, hint, candidates } = problem
  if (json) {
    err.line(JSON.stringify({ error: { code, message, hint: hint || null, candidates } }))
    return problem.exit
  }
  // Whoever stops a program knows that it has stopped.
  if (problem.exit === exit.interrupted && !debug) return problem.exit
  const { style } = err
  const sentence = style.safe(message).replace(/[.:]$/, '')
  err.line(`${style.failed('skein:')} ${sentence}${hint ? `. ${hint}` : ''}`)
  for (const candidate of candidates) err.line(`  ${style.safe(candidate)}`)
  if (debug && error instanceof Error && error.stack) err.line(style.safe(error.stack))
  return problem.exit
}
