/** How an agent got its memory of a conversation. `resumed`: the agent had kept it. `loaded`: its replay was
 *  complete. `completed`: its replay was incomplete, and the rest was injected. `injected`: everything was
 *  injected. `fresh`: the conversation is new. */
export type MemoryOutcome = 'resumed' | 'loaded' | 'completed' | 'injected' | 'fresh'

/** A way that failed. */
export interface FailedTier {
  /** The request: `session/resume` or `session/load`. */
  readonly tier: 'resume' | 'load'
  /** The JSON-RPC code; null if the agent did not refuse, but failed. */
  readonly code: number | null
  /** The error message. */
  readonly message: string
}

/** How an agent got its memory, and why. */
export interface MemoryReport {
  /** How the agent got its memory. */
  readonly outcome: MemoryOutcome
  /** Messages that were injected, or will be with the next prompt. */
  readonly injected: number
  /** Messages that were left out. */
  readonly untold: number
  /** The file with the whole conversation, which the injected text names; null if it names none. */
  readonly transcript: string | null
  /** Ways that failed before. */
  readonly failed: readonly FailedTier[]
}
