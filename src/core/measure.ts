/** The usage of one model, within a quarter of an hour or before the given time. */
export interface UsageSum {
  readonly model: string | null
  /** Quarters of an hour since 1970, so that a caller can sum them to days of its own time zone. Null for
   *  usage before the given time. */
  readonly quarter: number | null
  readonly turns: number
  readonly input: number
  readonly output: number
  /** The cost of the turns that have one. */
  readonly cost: number
  /** Tokens of turns without a known cost. */
  readonly uncosted: number
}

/** How much a store holds. */
export interface Measured {
  /** Without those in the trash. */
  readonly conversations: number
  readonly messages: number
  /** Used since the given time. */
  readonly recent: { readonly conversations: number; readonly messages: number }
  readonly trashed: number
  readonly blobs: { readonly count: number; readonly bytes: number }
  /** All usage, including that of conversations in the trash. */
  readonly usage: readonly UsageSum[]
  /** Storage by part, as the engine reports it. */
  readonly sizes: readonly { readonly name: string; readonly bytes: number }[]
}
