/** A fork is two statements, which is why it costs the same at any length, and next to nothing. */
export interface ForkStatements {
  /** Makes a branch at a message, with the conversation locked. Writes nothing if the conversation is missing or in the
   *  trash, if it has no such message, or if the name is taken. */
  insertFork: [{ id: string; name: string; at: string; title: string | null; now: number }, never]
  bumpVersionOf: [{ id: string }, never]
}
