import type { BoundStatement, RowReader } from './prepared.ts'

/** The result of a statement. */
export interface BatchResult {
  readonly rows: readonly Row[]
  /** The number of written rows. */
  readonly changes: number
  /** The first word of the server's reply: the reply to `COMMIT` may be `ROLLBACK`. */
  readonly command: string
}

type Row = Readonly<Record<string, unknown>>

interface Column {
  readonly name: string
  readonly parse: (text: string) => unknown
}

/** The internal methods of pg's connection that we use. So pg is pinned, and a test checks them. */
interface Connection {
  readonly parsedStatements: Record<string, string>
  readonly stream: { cork?(): void; uncork?(): void }
  parse(message: { text: string; name: string }): void
  bind(message: { portal: string; statement: string; values: unknown[] }): void
  describe(message: { type: 'P'; name: string }): void
  execute(message: { portal: string; rows: number }): void
  sync(): void
  on(event: 'parseComplete', listener: () => void): void
  removeListener(event: 'parseComplete', listener: () => void): void
}

/** A client of pg that accepts an object with `submit` as a query, such as a cursor or a stream. */
export interface BatchClient {
  query(batch: Batch): unknown
}

/** The columns of a prepared statement do not change, so the server describes them once. */
const described = new WeakMap<Connection, Map<string, readonly Column[]>>()

/** Several statements in one round trip, with one Sync. Outside a transaction block they form a transaction
 *  of their own, and an error in one of them undoes all. pg itself sends a Sync after each statement. */
export class Batch {
  readonly done: Promise<readonly BatchResult[]>
  #resolve!: (results: readonly BatchResult[]) => void
  #reject!: (error: Error) => void
  readonly #statements: readonly BoundStatement[]
  readonly #results: BatchResult[] = []
  #rows: Row[] = []
  #columns: readonly Column[] = []
  #readRow: RowReader | null = null
  #known: Map<string, readonly Column[]> = new Map()
  #stopListening: () => void = () => {}

  constructor(statements: readonly BoundStatement[]) {
    this.#statements = statements
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Called by pg when the connection is free. */
  submit(connection: Connection): void {
    this.#known = described.get(connection) ?? new Map()
    described.set(connection, this.#known)
    const parsing: BoundStatement['statement'][] = []
    connection.stream.cork?.()
    try {
      for (const { statement, values } of this.#statements) {
        const { name, sql } = statement
        if (connection.parsedStatements[name] === undefined && !parsing.includes(statement)) {
          connection.parse({ text: sql, name })
          parsing.push(statement)
        }
        connection.bind({ portal: '', statement: name, values: values as unknown[] })
        if (!this.#known.has(name)) connection.describe({ type: 'P', name: '' })
        connection.execute({ portal: '', rows: 0 })
      }
      connection.sync()
    } finally {
      connection.stream.uncork?.()
    }
    if (parsing.length > 0) this.#noteParsed(connection, parsing)
    this.#begin()
  }

  /** A parsed statement survives an error in the same batch, so each one is recorded when the server
   *  reports it. */
  #noteParsed(connection: Connection, parsing: readonly BoundStatement['statement'][]): void {
    let parsed = 0
    const listener = () => {
      const { name, sql } = parsing[parsed++]!
      connection.parsedStatements[name] = sql
    }
    connection.on('parseComplete', listener)
    this.#stopListening = () => connection.removeListener('parseComplete', listener)
  }

  #begin(): void {
    this.#rows = []
    const next = this.#statements[this.#results.length]
    this.#columns = (next && this.#known.get(next.statement.name)) ?? []
    this.#readRow = next?.statement.readRow ?? null
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }))
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if (this.#readRow !== null) return void this.#rows.push(this.#readRow(fields))
    const row: Record<string, unknown> = {}
    for (let i = 0; i < fields.length; i++) {
      const text = fields[i]!
      const { name, parse } = this.#columns[i]!
      row[name] = text === null ? null : parse(text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#known.set(this.#statements[this.#results.length]!.statement.name, this.#columns)
    const words = text.split(' ')
    const written = words[0] !== 'SELECT' && words.length > 1 ? Number(words.at(-1)) : 0
    this.#results.push({ rows: this.#rows, changes: written, command: words[0]! })
    this.#begin()
  }

  handleReadyForQuery(): void {
    this.#stopListening()
    this.#resolve(this.#results)
  }

  handleError(error: Error): void {
    this.#stopListening()
    this.#reject(error)
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

/** Sends statements in one round trip. Rejects with pg's own error. */
export function runBatch(
  client: BatchClient,
  statements: readonly BoundStatement[],
): Promise<readonly BatchResult[]> {
  const batch = new Batch(statements)
  client.query(batch)
  return batch.done
}

const asNumber = Number
const asText = (text: string) => text
const asBytes = (text: string) => Buffer.from(text.slice(2), 'hex')

/** int2, int4, int8 and float8 become numbers, bytea becomes bytes, everything else stays text. */
function parserOf(type: number): (text: string) => unknown {
  if (type === 20 || type === 21 || type === 23 || type === 701) return asNumber
  return type === 17 ? asBytes : asText
}
