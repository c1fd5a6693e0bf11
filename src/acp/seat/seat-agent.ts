import type { JsonObject } from '../../core/json.ts'
import type { RecordStore } from '../../recorder/recording.ts'
import type { Abilities } from '../memory/abilities.ts'

/** An agent that runs, as a seat needs it. */
export interface SeatAgent {
  readonly abilities: Abilities
  /** Throws RpcError, and ConnectionEnded if it ends before it answers. */
  request(method: string, params: JsonObject, options?: { readonly signal?: AbortSignal }): Promise<unknown>
}

/** What a seat needs of a store. */
export type SeatStore = RecordStore
