import { SkeinError } from '../core/errors.ts'
import type { TurnRequest } from './open-turn.ts'
import type { Trouble } from './recording.ts'
import type { Outage } from './write-queue.ts'

/** Reports outages: at once to the caller of the turn, and afterwards as events of the conversation. */
export interface OutageReporter {
  onTrouble(trouble: Trouble): void
  onRecovered(outage: Outage): Promise<void>
}

export function outageReporter({ store, ref, options, source }: TurnRequest): OutageReporter {
  return {
    onTrouble(trouble) {
      try {
        options.onTrouble?.(trouble)
      } catch {
        // An error of the listener must not fail the turn.
      }
    },
    onRecovered: ({ since, error }) =>
      store.addEvents(ref.conversationId, [
        { type: 'degraded', createdAt: new Date(since), data: { error: describe(error) } },
        { type: 'recovered', data: { afterMs: Math.max(0, source.now() - since) } },
      ]),
  }
}

/** The text of an unknown error may contain anything, so only its type is stored. */
function describe(error: unknown): string {
  if (error instanceof SkeinError) return `${error.code}: ${error.message}`
  return error instanceof Error ? error.name : typeof error
}
