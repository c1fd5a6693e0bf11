import type { Outputs } from '../output/output.ts'
import type { StoreAccess } from '../store/with-store.ts'

/** What a command may use of its environment. A test replaces all of it. */
export interface CommandContext extends Outputs, StoreAccess {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Milliseconds since 1970. */
  now(): number
  readonly stdin: NodeJS.ReadStream
  /** True if stdin and stderr are terminals, so that the user can be asked. */
  readonly canAsk: boolean
  /** Aborted by Ctrl+C and SIGTERM. */
  readonly signal: AbortSignal
}
