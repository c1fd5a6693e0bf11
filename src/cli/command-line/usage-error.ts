/** An invalid command line: exit code 2. `hint` is what to type instead. */
export class UsageError extends Error {
  readonly hint: string

  constructor(problem: string, hint = '') {
    super(problem)
    this.name = 'UsageError'
    this.hint = hint
  }
}
