import { SkeinError } from '../core/errors.ts'
import type { Opening } from './opening.ts'
import type { Outage } from './queue.ts'
import type { Trouble } from './recording.ts'

/** How times of failing storage become known: to whoever runs the turn at once, to the conversation afterwards. */
export interface Outages {
  tell(trouble: Trouble): void
  trace(outage: Outage): Promise<void>
}

export function outages({ store, ref, options, source }: Opening): Outages {
  return {
    tell(trouble) {
      try {
        options.onTrouble?.(trouble)
      } catch {
        // A listener that fails must not cost anybody the turn.
      }
    },
    trace: ({ since, error }) =>
      store.addEvents(ref.conversationId, [
        { type: 'degraded', at: new Date(since), data: { error: describe(error) } },
        { type: 'recovered', data: { afterMs: Math.max(0, source.now() - since) } },
      ]),
  }
}

/** An unknown error may say anything; only its kind is kept. */
function describe(error: unknown): string {
  if (error instanceof SkeinError) return `${error.code}: ${error.message}`
  return error instanceof Error ? error.name : typeof error
}
