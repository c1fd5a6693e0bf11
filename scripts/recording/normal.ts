import { createHash } from 'node:crypto'

/** A text that differs from run to run, and its replacement of the same length. */
export interface Change {
  readonly from: RegExp
  readonly to: (found: string) => string
}

/** Ids, in full or shortened as printed, in the order of their creation; and times. */
export function changesFor(ids: readonly string[]): readonly Change[] {
  const changes = ids.map((id, n): Change => {
    const stand = standIn(id, n)
    // At least six characters, and as many more as were printed.
    const longer = [...id.slice(6)].reduceRight((rest, character) => `(?:${character}${rest})?`, '')
    return {
      from: new RegExp(`\\b${id.slice(0, 6)}${longer}\\b`, 'g'),
      to: found => stand.slice(0, found.length),
    }
  })
  return [
    ...changes,
    { from: /\b\d{4}-\d\d-\d\d \d\d:\d\d\b/g, to: () => '2026-11-14 17:42' },
    { from: /(?<= )\d+(?:\.\d+)? m?s$/g, to: () => '4 ms' },
    // On a slow machine minutes pass.
    { from: / [1-9]m\b(?! ago)|\b[1-9]m(?: ago| )/g, to: () => 'now' },
  ]
}

/** An id of the same kind that is the same in every run. */
function standIn(id: string, n: number): string {
  const bytes = createHash('sha256').update(`message ${n} of the recording`).digest()
  if (id.includes('-')) return bytes.toString('hex').slice(0, id.length)
  return [...bytes].map(byte => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join('')
}
