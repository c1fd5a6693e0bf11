import type { Engine } from '../engine/engine.ts'
import type { FollowHub } from './follow-hub.ts'

/** The hub of a store, which is loaded when an iteration first follows. */
export interface HubOnDemand extends Pick<FollowHub, 'wake' | 'close'> {
  load(): Promise<FollowHub>
}

export function hubOnDemand(engine: Pick<Engine, 'query' | 'source'>): HubOnDemand {
  let hub: FollowHub | undefined
  let isClosed = false
  return {
    wake: () => hub?.wake(),
    close() {
      isClosed = true
      hub?.close()
    },
    async load() {
      const { followHub } = await import('./follow-hub.ts')
      hub ??= followHub(engine)
      // The store may have been closed meanwhile.
      if (isClosed) hub.close()
      return hub
    },
  }
}
