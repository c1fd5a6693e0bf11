import type { Run } from '../command.ts'
import { UsageError } from '../usage-error.ts'

/** `skein [prompt…]`: being written. */
export const ask: Run = async () => {
  throw new UsageError('asking is not there yet')
}
