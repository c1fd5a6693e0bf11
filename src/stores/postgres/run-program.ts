import { NotFoundError } from '../../core/errors.ts'
import type { Program, StatementCall, StatementResult } from '../engine/engine.ts'
import type { ListParams } from '../engine/list-params.ts'
import type { ParamsOf, StatementName } from '../engine/statements.ts'
import type { BatchResult } from './batch.ts'
import { type CopyRow, encodeCopy } from './binary.ts'
import { candidateRow, completeTail, pathRow, tailRow } from './chain-rows.ts'
import type { PooledConnection } from './pool.ts'
import { type BoundStatement, bind, type PreparedStatement, prepare, type RowReader } from './prepared.ts'
import { type BulkInsert, bulkInserts, bulkStatements, copySql, listInsertSql } from './queries/bulk.ts'
import { queries } from './queries/index.ts'

/** Most statements to batch into one round trip. */
const mostWaiting = 200

/** Most bytes of rows to insert in one statement, roughly. */
const mostBulk = 4_194_304

/** Fewest rows to write by COPY, which is faster than an INSERT but takes two more round trips. */
const fewestCopied = 64

/** Placeholder for a deferred statement; its result is never read. */
const unseen: StatementResult = { rows: [], changes: 0 }

/** Leases are stored in the time of the server, which all clients share, and read in the time of the client.
 *  An injected clock is the time of both. */
export interface LeaseClock {
  readonly client_now: number
  /** Null: the clock of the server. */
  readonly server_now: number | null
}

/** Runs the statements of programs on a connection. Transactions are left to the caller. */
export interface ProgramRunner {
  statementsOf(call: StatementCall): BoundStatement[]
  /** Runs a program to its end. `waiting` are statements to send before its first one; those that remain have
   *  not been sent. */
  drive<T>(
    program: Program<T>,
    link: Pick<PooledConnection, 'run'>,
    waiting: BoundStatement[],
    options: { readonly mayWait: boolean },
  ): Promise<T>
  /** Collects the statements that need not be sent at once, up to the first one that must. */
  defer<T>(
    program: Program<T>,
    next: IteratorResult<StatementCall, T>,
    queue: Queue,
  ): IteratorResult<StatementCall, T>
}

export function programRunner(tenant: string, leaseClock: () => LeaseClock): ProgramRunner {
  const { statementsOf, bulkOf } = compiler(tenant, leaseClock)
  return { statementsOf, drive, defer }

  async function drive<T>(
    program: Program<T>,
    link: Pick<PooledConnection, 'run'>,
    waiting: BoundStatement[],
    { mayWait }: { mayWait: boolean },
  ): Promise<T> {
    const deferred: Deferred[] = []
    let step = defer(program, program.next(), { waiting, deferred, mayWait })
    while (!step.done) {
      const results = await link.run([...waiting.splice(0), ...statementsOf(step.value)])
      complete(deferred.splice(0), results)
      const next = program.next(callResult(step.value, results.at(-1)!))
      step = defer(program, next, { waiting, deferred, mayWait })
    }
    // Not together with the commit: if the connection breaks meanwhile, nothing was committed.
    const last = waiting.findLastIndex(({ input }) => input !== undefined)
    if (last >= 0) await link.run(waiting.splice(0, last + 1))
    return step.value
  }

  function defer<T>(
    program: Program<T>,
    next: IteratorResult<StatementCall, T>,
    { waiting, deferred, mayWait }: Queue,
  ): IteratorResult<StatementCall, T> {
    let step = next
    while (!step.done) {
      const call = step.value
      if (call.wants === 'later' || call.name === 'convOf') {
        waiting.push(...statementsOf(call))
        const result = { ...unseen }
        deferred.push({ call, result, at: waiting.length - 1 })
        step = program.next(call.name === 'convOf' ? ownConv(call) : result)
      } else if (mayWait && call.wants === 'nothing' && waiting.length < mostWaiting) {
        const rows = [call.params]
        step = program.next(unseen)
        for (let size = sizeOf(call); size < mostBulk && isAnother(call, step); step = program.next(unseen)) {
          rows.push(step.value.params)
          size += sizeOf(step.value)
        }
        waiting.push(...(rows.length > 1 ? [bulkOf(call, rows)] : statementsOf(call)))
      } else {
        return step
      }
    }
    return step
  }
}

/** Whether a program continues with another row of the same insert, which can be sent as one statement. */
function isAnother<T>(
  { name }: StatementCall,
  step: IteratorResult<StatementCall, T>,
): step is IteratorYieldResult<StatementCall> {
  return (
    !step.done &&
    step.value.name === name &&
    step.value.wants === 'nothing' &&
    (name in bulkInserts || name in bulkStatements)
  )
}

/** A rough number of bytes. */
function sizeOf({ params }: StatementCall): number {
  let size = 100
  for (const value of Object.values(params)) if (typeof value === 'string') size += value.length
  return size
}

/** Statements to send with the next one. */
export interface Queue {
  readonly waiting: BoundStatement[]
  readonly deferred: Deferred[]
  /** Whether statements without a result may wait. */
  readonly mayWait: boolean
}

/** A statement whose result is completed when a later one is answered. */
export interface Deferred {
  readonly call: StatementCall
  readonly result: StatementResult
  /** Its position in the request. */
  readonly at: number
}

/** Throws NotFoundError if a conversation does not exist whose inner key was taken from its id. */
export function complete(deferred: readonly Deferred[], results: readonly BatchResult[]): void {
  for (const { call, result, at } of deferred) {
    Object.assign(result, callResult(call, results[at]!))
    if (call.name === 'convOf' && result.rows.length === 0)
      throw new NotFoundError('conversation', idOf(call))
  }
}

/** The inner key of a conversation is its id, so the next statement need not wait for it. */
function ownConv(call: StatementCall): StatementResult {
  return { rows: [{ conv: idOf(call) }], changes: 0 }
}

function idOf({ params }: StatementCall): string {
  return (params as ParamsOf<'convOf'>).id
}

export function callResult({ name }: StatementCall, { rows, changes }: BatchResult): StatementResult {
  if (name === 'blobs') return { rows: joinPieces(rows), changes }
  const isTail = name === 'tail' || name === 'tailOfBranch'
  return { rows: isTail ? completeTail(rows) : rows, changes }
}

/** The statements that return many rows. */
const rowReaders: Partial<Record<StatementName, RowReader>> = {
  path: pathRow,
  tail: tailRow,
  tailOfBranch: tailRow,
  candidates: candidateRow,
}

interface Compiler {
  statementsOf(call: StatementCall): BoundStatement[]
  /** One statement for several calls that differ only in their parameters. */
  bulkOf(call: StatementCall, rows: readonly object[]): BoundStatement
}

/** Makes the statements of a call. Each text is prepared once. */
function compiler(tenant: string, leaseClock: () => LeaseClock): Compiler {
  const known = new Map<string, readonly PreparedStatement[]>()
  const bulk = new Map<string, PreparedStatement>()

  return {
    statementsOf(call) {
      const params = { ...call.params, ...leaseClock(), tenant }
      return textsOf(call).map(statement => bind(statement, params))
    },
    bulkOf({ name }, rows) {
      const several = bulkStatements[name as 'putSearchEntry']
      if (several) return bind(bulkText(name, several.sql), { ...several.params(rows as never), tenant })
      const insert = bulkInserts[name as StatementName]!
      if (rows.length >= fewestCopied) return copyOf(name, insert, rows as readonly CopyRow[])
      const statement = bulkText(name, listInsertSql(insert))
      const columns = statement.params.map(param => [param.name, rows.map(row => row[param.name as never])])
      return bind(statement, { ...Object.fromEntries(columns), tenant })
    },
  }

  function bulkText(name: string, sql: string): PreparedStatement {
    const statement = bulk.get(name) ?? prepare(sql, name)
    bulk.set(name, statement)
    return statement
  }

  function copyOf(label: string, insert: BulkInsert, rows: readonly CopyRow[]): BoundStatement {
    const statement = { name: '', label, sql: copySql(insert), params: [], readRow: null }
    return { statement, values: [], input: encodeCopy(tenant, insert.columns, rows) }
  }

  function textsOf({ name, params }: StatementCall): readonly PreparedStatement[] {
    const text = queries[name as StatementName]
    const filters = typeof text === 'function' ? (params as ListParams).filters : []
    const key = filters.length > 0 ? `${name} ${filters.join(' ')}` : name
    const made = known.get(key)
    if (made) return made
    const texts = typeof text === 'function' ? [text(filters)] : typeof text === 'string' ? [text] : text
    const statements = texts.map(one => prepare(one, name, rowReaders[name as StatementName]))
    known.set(key, statements)
    return statements
  }
}

interface Piece {
  readonly hash: string
  readonly size: number
  readonly n: number
  readonly data: Buffer
}

/** A blob may arrive in several rows, in any order. */
function joinPieces(rows: readonly unknown[]): readonly unknown[] {
  const blobs = Map.groupBy(rows as readonly Piece[], row => row.hash)
  return [...blobs.values()].map(pieces => {
    const [{ hash, size, data }] = pieces as [Piece]
    if (pieces.length === 1) return { hash, size, data }
    const inOrder = pieces.toSorted((a, b) => a.n - b.n).map(piece => piece.data)
    return { hash, size, data: Buffer.concat(inOrder) }
  })
}
