import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import { expect } from 'vitest'

/** A figure that a test has measured. */
export interface Note {
  readonly file: string
  readonly test: string
  readonly name: string
  readonly value: string
}

/** Records a figure of the running test for the table at the end of `npm run battery`; the gate ignores it.
 *  Noting is not checking: the test must also expect what must hold. Of several figures with one name, the
 *  last one counts. */
export function note(name: string, value: number | string): void {
  const path = process.env.SKEIN_BATTERY_NOTES
  if (path === undefined) return
  const { testPath = '', currentTestName = '' } = expect.getState()
  const file = relative(process.cwd(), testPath)
  const line: Note = { file, test: currentTestName, name, value: shown(value) }
  appendFileSync(path, `${JSON.stringify(line)}\n`)
}

function shown(value: number | string): string {
  if (typeof value === 'string') return value
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en-US', { maximumFractionDigits: digits })
}
