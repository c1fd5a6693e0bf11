import type { Run } from '../command.ts'
import { UsageError } from '../usage-error.ts'

/** `skein acp`: our own agent, for an editor on the other end of standard input and output. */
export const acp: Run = async (given, world) => {
  if (given.arguments.length > 0)
    throw new UsageError('acp cannot stand before another agent yet', 'Our own: skein acp')
  const { serveOwn } = await import('./serve-own.ts')
  return serveOwn(given, world)
}
