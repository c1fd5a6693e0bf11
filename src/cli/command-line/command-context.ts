import type { Outputs } from '../output/output.ts'
import type { StoreAccess } from '../store/with-store.ts'

/** What a command sees of the world: everything that a test wants to decide. */
export interface CommandContext extends Outputs, StoreAccess {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Milliseconds since 1970. */
  now(): number
  readonly stdin: NodeJS.ReadStream
  /** True if stdin is a terminal, and stderr one to ask on. */
  readonly canAsk: boolean
  /** Aborted by Ctrl+C and SIGTERM. */
  readonly signal: AbortSignal
}
