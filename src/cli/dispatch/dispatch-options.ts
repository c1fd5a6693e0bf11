import { parseDuration } from '../../config/duration.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** The value of an option such as `--timeout 30m`. Throws UsageError. */
export function durationOf(name: string, text: string): number {
  const ms = parseDuration(text)
  if (ms === null || ms === 0)
    throw new UsageError(`--${name}: "${text}" is not a duration`, 'Such as 30m, 12h or 7d')
  return ms
}

/** The value of `--workers`. Throws UsageError. */
export function workersOf(text: string | undefined): number {
  if (text === undefined) return 1
  const n = /^\d+$/.test(text) ? Number(text) : 0
  if (n < 1 || n > 256) throw new UsageError(`--workers takes a number from 1 to 256, not "${text}"`)
  return n
}
