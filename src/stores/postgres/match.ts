import type { Match } from '../engine/engine.ts'

/** A match as the text of a tsquery. Any token can stand in it: within quotes only the quote itself and the
 *  backslash mean something. */
export function matchText({ all, prefixes, any, none }: Match): string {
  const parts = [...all.map(quote), ...prefixes.map(prefix => `${quote(prefix)}:*`)]
  if (any.length > 0) parts.push(`(${any.map(quote).join(' | ')})`)
  parts.push(...none.map(token => `!${quote(token)}`))
  return parts.join(' & ')
}

function quote(token: string): string {
  return `'${token.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
