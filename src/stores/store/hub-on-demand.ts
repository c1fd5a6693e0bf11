import type { Engine } from '../engine/engine.ts'
import type { FollowHub } from './follow-hub.ts'

/** The hub of a store, which is loaded when an iteration first follows. */
export interface HubOnDemand extends Pick<FollowHub, 'wake' | 'close'> {
  /** Runs an iteration, which ends if the store is closed meanwhile: also if a read of it fails by that. */
  untilClosed<T>(events: (hub: FollowHub) => AsyncGenerator<T, void, void>): AsyncGenerator<T, void, void>
}

export function hubOnDemand(engine: Pick<Engine, 'query' | 'source'>): HubOnDemand {
  let hub: FollowHub | undefined
  let isClosed = false
  return {
    untilClosed,
    wake: () => hub?.wake(),
    close() {
      isClosed = true
      hub?.close()
    },
  }

  async function load(): Promise<FollowHub> {
    const { followHub } = await import('./follow-hub.ts')
    hub ??= followHub(engine)
    // The store may have been closed meanwhile.
    if (isClosed) hub.close()
    return hub
  }

  async function* untilClosed<T>(events: (hub: FollowHub) => AsyncGenerator<T, void, void>) {
    const wasClosed = isClosed
    try {
      yield* events(await load())
    } catch (error) {
      if (wasClosed || !isClosed) throw error
    }
  }
}
