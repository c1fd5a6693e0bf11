import { UsageError } from './usage-error.ts'

/** The names in `--json=id,title`. */
export function fieldNames(named: string): readonly string[] {
  return named
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}

/** Throws UsageError without a name and for an unknown one, with the known ones. */
export function checkFields(names: readonly string[], known: readonly string[]): void {
  const there = `There are ${known.join(', ')}`
  if (names.length === 0) throw new UsageError('--json= names no field', there)
  const missing = names.find(name => !known.includes(name))
  if (missing !== undefined) throw new UsageError(`there is no field ${missing}`, there)
}
