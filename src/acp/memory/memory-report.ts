/** How an agent came to know a conversation. `resumed`: it had kept it. `loaded`: it replayed all of it.
 *  `completed`: it knew a part, and was told the rest. `injected`: it was told. `fresh`: there was nothing to
 *  know. */
export type MemoryOutcome = 'resumed' | 'loaded' | 'completed' | 'injected' | 'fresh'

/** A way that was tried and failed. */
export interface FailedTier {
  readonly tier: 'resume' | 'load'
  readonly code: number | null
  readonly message: string
}

/** What became of an agent's memory, and why. */
export interface MemoryReport {
  readonly outcome: MemoryOutcome
  /** Messages that the agent was told, or will be told with the next prompt. */
  readonly injected: number
  /** Messages of the conversation that lie before those and that it was not told. */
  readonly untold: number
  readonly failed: readonly FailedTier[]
}
