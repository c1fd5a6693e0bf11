import { createHash } from 'node:crypto'

/** Something that differs from run to run, and what stands for it. Both are as long. */
export interface Change {
  readonly from: RegExp
  readonly to: (found: string) => string
}

/** Ids, whole or as short as they are printed, in the order in which they were made; and times. */
export function changesFor(ids: readonly string[]): readonly Change[] {
  const changes = ids.map((id, n): Change => {
    const stand = standIn(id, n)
    // Six characters at least, and as many more as there are.
    const longer = [...id.slice(6)].reduceRight((rest, character) => `(?:${character}${rest})?`, '')
    return {
      from: new RegExp(`\\b${id.slice(0, 6)}${longer}\\b`, 'g'),
      to: found => stand.slice(0, found.length),
    }
  })
  return [
    ...changes,
    { from: /\b\d{4}-\d\d-\d\d \d\d:\d\d\b/g, to: () => '2026-11-14 17:42' },
    // On a slow machine minutes pass.
    { from: / [1-9]m\b(?! ago)|\b[1-9]m(?: ago| )/g, to: () => 'now' },
  ]
}

/** An id of the same kind that is the same each time. */
function standIn(id: string, n: number): string {
  const bytes = createHash('sha256').update(`message ${n} of the recording`).digest()
  if (id.includes('-')) return bytes.toString('hex').slice(0, id.length)
  return [...bytes].map(byte => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join('')
}
