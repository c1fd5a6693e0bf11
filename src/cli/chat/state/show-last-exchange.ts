import type { Chat } from './chat-state.ts'
import { lastExchange } from './last-exchange.ts'

/** The end of what was said before, for whoever comes back. */
export async function showLastExchange({ talker, world }: Chat): Promise<void> {
  const spot = await talker.spot()
  if (!spot?.head || !talker.store || world.quiet) return
  world.err.line()
  for (const line of await lastExchange(talker.store, spot.head, world.err)) world.err.line(line)
}
