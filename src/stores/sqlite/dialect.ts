import type { TokenMatch } from '../engine/engine.ts'

/** The query in the language of FTS5. Tokens contain no quotes, so quoting them is enough. */
export function ftsQuery({ all, prefixes, any, none }: TokenMatch): string {
  const wanted = [...all.map(quote), ...prefixes.map(prefix => `${quote(prefix)}*`)]
  for (const list of any) wanted.push(`(${list.map(quote).join(' OR ')})`)
  const unwanted = none.map(token => ` NOT ${quote(token)}`).join('')
  return `(${wanted.join(' AND ')})${unwanted}`
}

function quote(token: string): string {
  return `"${token}"`
}

/** An SQL text with the names of its parameters in order. */
export interface CompiledQuery {
  readonly sql: string
  readonly names: readonly string[]
}

/** Replaces each `@name` by the result of `mark`. Each occurrence of a name is a separate parameter. */
export function compileQuery(text: string, mark: (position: number) => string): CompiledQuery {
  const names: string[] = []
  // An `@` after another one, or without a letter after it, is an operator.
  const sql = text.replace(/(?<!@)@([a-z_]+)/g, (_, name: string) => mark(names.push(name)))
  return { sql, names }
}
