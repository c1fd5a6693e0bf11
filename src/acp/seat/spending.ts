/** What a turn cost, of an agent that tells what its session has cost so far. */
export interface Spending {
  /** The agent says what it is by now. */
  hear(soFar: number): void
  /** A turn begins. */
  begin(): void
  /** What was spent since; null if that cannot be known: nothing was said, or not where it began. */
  spent(): number | null
}

/** A session that has just begun has cost nothing; one that was taken up again has cost what the agent says first. */
export function createSpending(soFar: number | null): Spending {
  let last = soFar
  let base = soFar
  return {
    hear(now) {
      last = now
      base ??= now
    },
    begin() {
      base = last
    },
    spent: () => (base === null || last === null || last <= base ? null : last - base),
  }
}
