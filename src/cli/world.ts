import type { Store } from '../core/ports.ts'
import type { Place } from './place.ts'
import type { Paper } from './terminal/paper.ts'

/** What a command sees of the world: everything that a test wants to decide. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Milliseconds since 1970. */
  now(): number
  readonly stdin: NodeJS.ReadStream
  /** The answer or the data. */
  readonly out: Paper
  /** Everything about it: headers, notes, progress, receipts, errors. */
  readonly err: Paper
  /** True if stdin is a terminal, and stderr one to ask on. */
  readonly canAsk: boolean
  readonly json: boolean
  readonly quiet: boolean
  /** Where the data is. */
  place(): Place
  /** Opens the store once; whoever runs the command closes it, on every way out. */
  store(): Promise<Store>
  /** Aborted by Ctrl+C and SIGTERM. */
  readonly signal: AbortSignal
}
