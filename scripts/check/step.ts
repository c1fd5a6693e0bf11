/** How many checks a step made. */
export interface Count {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** One step of the gate. `run` gets an empty folder of its own, and throws when the step fails. */
export interface Step {
  readonly name: string
  run(place: string): Promise<Count>
}

/** A step that can say how much of it failed; any other error counts as one. */
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

/** Both counts together. */
export function sum(a: Count, b: Count): Count {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }
}

/** The closing line: `N passed, N failed`, and the skipped ones if there are any. */
export function closingLine({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
