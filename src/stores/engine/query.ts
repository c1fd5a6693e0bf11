import type { ListFilter, StatementName } from './statements.ts'

/** The SQL of one dialect: a text for each statement, or for a list one that its filters decide.
 *  Where a dialect needs several, they run in order. Parameters are written `@name` in both dialects. */
export type Queries = {
  readonly [N in StatementName]: N extends 'listConversations' | 'countConversations'
    ? (filters: readonly ListFilter[]) => string
    : string | readonly string[]
}

/** A text with its parameters in the order in which the engine wants them. */
export interface CompiledQuery {
  readonly sql: string
  readonly names: readonly string[]
}

/** Replaces each `@name` by what `mark` gives for the position; a name that recurs is a new position. */
export function compileQuery(text: string, mark: (position: number) => string): CompiledQuery {
  const names: string[] = []
  // An `@` that follows one, or that no letter follows, is an operator.
  const sql = text.replace(/(?<!@)@([a-z_]+)/g, (_, name: string) => mark(names.push(name)))
  return { sql, names }
}
