import type { Match } from '../engine/engine.ts'

/** A match in the language of FTS5. Tokens hold no quotes, so quoting them is enough. */
export function matchText({ all, prefixes, any, none }: Match): string {
  const wanted = [...all.map(quote), ...prefixes.map(prefix => `${quote(prefix)}*`)]
  if (any.length > 0) wanted.push(`(${any.map(quote).join(' OR ')})`)
  const unwanted = none.map(token => ` NOT ${quote(token)}`).join('')
  return `(${wanted.join(' AND ')})${unwanted}`
}

function quote(token: string): string {
  return `"${token}"`
}
