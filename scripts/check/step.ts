/** The number of checks of a step. */
export interface Count {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Lines to print at the end of the gate. */
  readonly notes?: readonly string[]
}

/** One step of the gate. `run` gets an empty folder, and throws when the step fails. */
export interface Step {
  readonly name: string
  run(place: string): Promise<Count>
}

/** A step that reports how much of it failed; any other error counts as one failure. */
export class StepError extends Error {
  readonly count: Count

  constructor(message: string, count: Count) {
    super(message)
    this.count = count
  }
}

/** `n` checks that passed. */
export function passed(n: number): Count {
  return { passed: n, failed: 0, skipped: 0 }
}

/** The sum of both counts. */
export function sum(a: Count, b: Count): Count {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    notes: [...(a.notes ?? []), ...(b.notes ?? [])],
  }
}

/** The closing line: `N passed, N failed`, and the skipped ones if there are any. */
export function closingLine({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
