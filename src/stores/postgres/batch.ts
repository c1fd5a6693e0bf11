import { copyIn } from './copy-in.ts'
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
  query(request: { submit(connection: never): void }): unknown
}

/** How statements are sent. `named`: parsed once per connection. `unnamed`: parsed each time. */
export type Naming = 'named' | 'unnamed'

/** The columns of a prepared statement do not change, so the server describes them once. */
const described = new WeakMap<Connection, Map<string, readonly Column[]>>()

/** Several statements in one round trip, with one Sync. Outside a transaction block they form a transaction
 *  of their own, and an error in one of them undoes all. pg itself sends a Sync after each statement. */
export class Batch {
  readonly done: Promise<readonly BatchResult[]>
  #resolve!: (results: readonly BatchResult[]) => void
  #reject!: (error: Error) => void
  readonly #statements: readonly BoundStatement[]
  readonly #naming: Naming
  readonly #results: BatchResult[] = []
  #rows: Row[] = []
  #columns: readonly Column[] = []
  #readRow: RowReader | null = null
  #known: Map<string, readonly Column[]> = new Map()
  #connection: Connection | null = null
  #stopListening: () => void = () => {}

  constructor(statements: readonly BoundStatement[], naming: Naming) {
    this.#statements = statements
    this.#naming = naming
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Called by pg when the connection is free. */
  submit(connection: Connection): void {
    this.#connection = connection
    this.#known = described.get(connection) ?? new Map()
    described.set(connection, this.#known)
    connection.stream.cork?.()
    try {
      const parsing = this.#naming === 'named' ? this.#sendNamed(connection) : this.#sendUnnamed(connection)
      connection.sync()
      if (parsing.length > 0) this.#noteParsed(connection, parsing)
    } finally {
      connection.stream.uncork?.()
    }
    this.#begin()
  }

  /** Returns the statements that the server has to parse. */
  #sendNamed(connection: Connection): readonly BoundStatement['statement'][] {
    const parsing: BoundStatement['statement'][] = []
    for (const { statement, values } of this.#statements) {
      const { name, sql } = statement
      if (connection.parsedStatements[name] === undefined && !parsing.includes(statement)) {
        connection.parse({ text: sql, name })
        parsing.push(statement)
      }
      this.#execute(connection, name, { statement, values })
    }
    return parsing
  }

  /** A repeated statement is parsed once. */
  #sendUnnamed(connection: Connection): readonly [] {
    let parsed: BoundStatement['statement'] | null = null
    for (const bound of this.#statements) {
      if (bound.statement !== parsed) connection.parse({ text: bound.statement.sql, name: '' })
      parsed = bound.statement
      this.#execute(connection, '', bound)
    }
    return []
  }

  #execute(connection: Connection, name: string, { statement, values }: BoundStatement): void {
    connection.bind({ portal: '', statement: name, values: values as unknown[] })
    if (!this.#known.has(statement.name)) connection.describe({ type: 'P', name: '' })
    connection.execute({ portal: '', rows: 0 })
  }

  /** Notes what an error says about a statement: behind a pooler, a transaction may run on a connection of
   *  the server that has not parsed it, or on one that has. The text of the error is translated, the name is
   *  not. */
  #noteMisplaced(error: Error & { readonly code?: unknown }): void {
    if (this.#connection === null || (error.code !== '26000' && error.code !== '42P05')) return
    const { parsedStatements } = this.#connection
    const found = this.#statements.find(
      ({ statement: { name } }) => name !== '' && error.message.includes(name),
    )
    if (!found) return
    if (error.code === '26000') delete parsedStatements[found.statement.name]
    else parsedStatements[found.statement.name] = found.statement.sql
  }

  /** A parsed statement survives an error in the same batch, so each one is recorded when the server
   *  reports it. */
  #noteParsed(connection: Connection, parsing: readonly BoundStatement['statement'][]): void {
    let parsed = 0
    const listener = () => {
      const { name, sql } = parsing[parsed++]!
      if (name !== '') connection.parsedStatements[name] = sql
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
    this.#noteMisplaced(error)
    this.#reject(error)
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

/** Sends statements in one round trip, and each COPY among them in two of its own. Rejects with pg's own
 *  error. */
export async function runBatch(
  client: BatchClient,
  statements: readonly BoundStatement[],
  naming: Naming = 'named',
): Promise<readonly BatchResult[]> {
  const results: BatchResult[] = []
  let sent = 0
  for (const [i, { statement, input }] of statements.entries()) {
    if (input === undefined) continue
    if (i > sent) results.push(...(await runTogether(client, statements.slice(sent, i), naming)))
    results.push({ rows: [], changes: await copyIn(client, statement.sql, input), command: 'COPY' })
    sent = i + 1
  }
  if (sent === 0) return runTogether(client, statements, naming)
  if (sent < statements.length) results.push(...(await runTogether(client, statements.slice(sent), naming)))
  return results
}

function runTogether(
  client: BatchClient,
  statements: readonly BoundStatement[],
  naming: Naming,
): Promise<readonly BatchResult[]> {
  const batch = new Batch(statements, naming)
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
