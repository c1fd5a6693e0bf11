/** Where the time and new ids come from: a parameter, so that tests and imports can decide. */
export interface Source {
  /** Milliseconds since 1970. */
  now(): number
  /** A random UUID, version 4. */
  uuid(): string
}
