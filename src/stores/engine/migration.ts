/** One step of a schema's history. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}
