import type { ZodType } from 'zod'

/** A command as typed, and its output. */
export interface CommandShape {
  /** The command. */
  readonly typed: string
  /** Its output with `--json`. */
  readonly schema: ZodType
  /** A note for the reader. */
  readonly note?: string
}
