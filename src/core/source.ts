/** The clock and the source of new ids. A parameter, so that tests and imports can inject another one. */
export interface Source {
  /** Milliseconds since 1970. */
  now(): number
  /** A random UUID, version 4. */
  uuid(): string
}
