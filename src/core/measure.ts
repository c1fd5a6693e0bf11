/** What turns of one model used, either within a quarter of an hour or before the time that was asked for. */
export interface UsageSum {
  readonly model: string | null
  /** Quarters of an hour since 1970, so that whoever asks can make days of his own time zone of them; null for what
   *  lies before. */
  readonly quarter: number | null
  readonly turns: number
  readonly input: number
  readonly output: number
  /** What those turns cost that know it. */
  readonly cost: number
  /** Tokens of turns that do not know what they cost. */
  readonly uncosted: number
}

/** How much a store holds. */
export interface Measured {
  /** Those in the trash are not counted. */
  readonly conversations: number
  readonly messages: number
  /** Of those that were used since. */
  readonly recent: { readonly conversations: number; readonly messages: number }
  readonly trashed: number
  readonly blobs: { readonly count: number; readonly bytes: number }
  /** What was used counts once, also by what is in the trash. */
  readonly usage: readonly UsageSum[]
  /** What takes how much room, as the engine knows it. */
  readonly sizes: readonly { readonly name: string; readonly bytes: number }[]
}
