import type { ZodError } from 'zod'
import { type Issue, plainProblem } from './plain-problem.ts'

/** One thing that is wrong with a request. */
export interface RequestProblem {
  /** The path of the field: `messages[1].blocks[0].call_id`. Empty for the request itself. */
  readonly field: string
  /** What is wrong with it, as the rest of a sentence that begins with the field. */
  readonly problem: string
}

/** The first problem of a request. In a union of blocks it is the one of the type that was given. */
export function firstProblem(error: ZodError): RequestProblem {
  const [issue] = error.issues
  return issue === undefined ? { field: '', problem: 'is invalid' } : problemOf(issue, [])
}

function problemOf(issue: Issue, before: readonly PropertyKey[]): RequestProblem {
  const path = [...before, ...issue.path]
  if (issue.code === 'invalid_union') {
    const nearest = nearestOption(issue.errors)
    if (nearest !== undefined) return problemOf(nearest, path)
  }
  if (issue.code === 'unrecognized_keys')
    return { field: fieldOf([...path, issue.keys[0]!]), problem: plainProblem(issue) }
  return { field: fieldOf(path), problem: plainProblem(issue) }
}

/** The first issue of the option that fits best: one whose `type` was right. */
function nearestOption(options: readonly (readonly Issue[])[]): Issue | undefined {
  const failsAtType = (issues: readonly Issue[]) =>
    issues.some(issue => issue.path.length === 1 && issue.path[0] === 'type') || isAnotherKind(issues)
  return (options.find(issues => !failsAtType(issues)) ?? options.find(issues => issues.length > 0))?.[0]
}

/** Whether the option is a union itself whose options all have other types. */
function isAnotherKind([issue]: readonly Issue[]): boolean {
  if (issue?.code !== 'invalid_union' || issue.path.length > 0) return false
  return issue.errors.every(option => option.some(({ path }) => path.length === 1 && path[0] === 'type'))
}

function fieldOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return text === '' ? String(key) : `${text}.${String(key)}`
  }, '')
}
