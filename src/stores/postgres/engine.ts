import { setTimeout as pause } from 'node:timers/promises'
import { OutcomeUnknownError, SkeinError } from '../../core/errors.ts'
import type { Source } from '../../core/source.ts'
import { retryChannel } from '../../system/debug.ts'
import type {
  Engine,
  Program,
  StatementCall,
  StatementResult,
  TokenMatch,
  WriteMode,
} from '../engine/engine.ts'
import type { ListParams } from '../engine/list-params.ts'
import type { StatementName } from '../engine/statements.ts'
import type { BatchResult } from './batch.ts'
import { completeTail, pathRow, tailRow } from './chain-rows.ts'
import { compactTables, remnantsOfDeletion } from './compact.ts'
import { isBroken, isLostRace, translate, translateCommit } from './errors.ts'
import { type PooledConnection, type PostgresPool, withConnection } from './pool.ts'
import { type BoundStatement, bind, type PreparedStatement, prepare, type RowReader } from './prepared.ts'
import { bulkQueries } from './queries/bulk.ts'
import { queries } from './queries/index.ts'

/** How often a transaction is run before a lost race is reported to the caller. */
const mostTries = 10

/** Most statements to batch into one round trip. */
const mostWaiting = 200

/** Most bytes of rows to insert in one statement, roughly. */
const mostBulk = 4_194_304

/** Placeholder for a deferred statement; its result is never read. */
const unseen: StatementResult = { rows: [], changes: 0 }

const begin = bind(prepare('BEGIN ISOLATION LEVEL READ COMMITTED'), {})
const beginReading = bind(prepare('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'), {})
const relax = bind(prepare('SET LOCAL synchronous_commit = off'), {})
const commit = bind(prepare('COMMIT'), {})
const rollback = bind(prepare('ROLLBACK'), {})

export interface PostgresEngineOptions {
  readonly tenant: string
  readonly source: Source
  close(): Promise<void>
}

/** An engine that can also run a whole transaction in one round trip. */
export interface PostgresEngine extends Engine {
  readonly tenant: string
  /** Runs statements as a transaction of their own, in one round trip. Does not retry after a lost race. */
  once(statements: readonly BoundStatement[]): Promise<readonly BatchResult[]>
}

/** Transactions over a pool, each on one connection and for one tenant. */
export function postgresEngine(
  pool: PostgresPool,
  { tenant, source, close }: PostgresEngineOptions,
): PostgresEngine {
  const { statementsOf, bulkOf } = compiler(tenant)
  return {
    tenant,
    source,
    rowsPerStatement: null,
    query,
    read,
    write,
    once,
    inspect,
    removeTraces,
    compact,
    matchText,
    indexForm: 2,
    close,
    isFree: () => true,
    noteUnindexed: () => undefined,
    indexElsewhere: async () => false,
    // A search reads the entries that wait, about 1 ms for so many.
    tidyAfter: 1_024,
  }

  async function query<T>(program: () => Program<T>): Promise<T> {
    return withConnection(pool, async link => drive(program(), link, [], { mayWait: false })).catch(rethrow)
  }

  async function read<T>(program: () => Program<T>, expected: 'one' | 'many' = 'many'): Promise<T> {
    return withConnection(pool, async link => {
      const early = expected === 'one' ? await driveOne(program(), link) : null
      if (early) return early.value
      const waiting = [beginReading]
      try {
        return await drive(program(), link, waiting, { mayWait: false })
      } finally {
        // The end of a read transaction needs no confirmation, so the result is returned first.
        if (waiting.length === 0) link.run([rollback]).catch(link.spoil)
      }
    }).catch(rethrow)
  }

  async function write<T>(program: () => Program<T>, mode: WriteMode = 'durable'): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await withConnection(pool, link => transact(link, program(), mode === 'relaxed'))
      } catch (error) {
        if (!isLostRace(error) || tries === mostTries) throw translate(error)
        const pauseMs = Math.random() * 5 * tries
        if (retryChannel.hasSubscribers)
          retryChannel.publish({ what: 'race', attempt: tries, pauseMs, error })
        await pause(pauseMs)
      }
    }
  }

  async function transact<T>(link: PooledConnection, program: Program<T>, relaxed: boolean): Promise<T> {
    const waiting = relaxed ? [begin, relax] : [begin]
    const opening = waiting.length
    let result: T
    try {
      result = await drive(program, link, waiting, { mayWait: true })
    } catch (error) {
      // If BEGIN was never sent, there is nothing to undo.
      const begun = waiting[0] !== begin
      if (begun && !isBroken(error)) await link.run([rollback]).catch(link.spoil)
      throw error
    }
    if (waiting[0] === begin && waiting.length === opening) return result
    await finish(link, [...waiting, commit])
    return result
  }

  async function finish(
    link: PooledConnection,
    statements: readonly BoundStatement[],
  ): Promise<readonly BatchResult[]> {
    link.takeWarnings()
    try {
      const results = await link.run(statements)
      if (link.takeWarnings().some(isUnconfirmed)) {
        throw new OutcomeUnknownError('the commit was not confirmed by the standby servers', {
          hint: 'Try again with the same turn key',
        })
      }
      return results
    } catch (error) {
      if (error instanceof SkeinError) throw error
      if (isBroken(error)) {
        link.spoil()
        throw translateCommit(error)
      }
      // In a transaction block, an error leaves the block open and the COMMIT unread.
      if (statements.at(-1) === commit) await link.run([rollback]).catch(link.spoil)
      throw error
    }
  }

  /** A client cannot reach the server's files. `compact` rewrites the tables. */
  async function removeTraces() {
    return remnantsOfDeletion
  }

  async function compact() {
    return compactTables(pool).catch(rethrow)
  }

  /** A client cannot check the pages of PostgreSQL. */
  async function inspect() {
    return []
  }

  async function once(statements: readonly BoundStatement[]): Promise<readonly BatchResult[]> {
    return withConnection(pool, link => finish(link, statements))
  }

  /** Runs a program of one request. A statement has its own snapshot; several are sent as a transaction. Null
   *  if the program needs another request. */
  async function driveOne<T>(program: Program<T>, link: PooledConnection): Promise<{ value: T } | null> {
    const waiting = [beginReading]
    const deferred: Deferred[] = []
    let step = defer(program, program.next(), { waiting, deferred, mayWait: false })
    if (step.done) return { value: step.value }
    const call = step.value
    const isOne = waiting.length === 1
    const statements = isOne ? statementsOf(call) : [...waiting, ...statementsOf(call), rollback]
    try {
      const results = await link.run(statements)
      complete(deferred, results)
      step = program.next(resultOf(call, results.at(isOne ? -1 : -2)!))
    } catch (error) {
      // The server skips what follows an error, also the end of the transaction.
      if (!isOne && !isBroken(error)) await link.run([rollback]).catch(link.spoil)
      throw error
    }
    return step.done ? { value: step.value } : null
  }

  async function drive<T>(
    program: Program<T>,
    link: PooledConnection,
    waiting: BoundStatement[],
    { mayWait }: { mayWait: boolean },
  ): Promise<T> {
    const deferred: Deferred[] = []
    let step = defer(program, program.next(), { waiting, deferred, mayWait })
    while (!step.done) {
      const results = await link.run([...waiting.splice(0), ...statementsOf(step.value)])
      complete(deferred.splice(0), results)
      const next = program.next(resultOf(step.value, results.at(-1)!))
      step = defer(program, next, { waiting, deferred, mayWait })
    }
    return step.value
  }

  /** Collects the statements that need not be sent at once, up to the first one that must. */
  function defer<T>(
    program: Program<T>,
    next: IteratorResult<StatementCall, T>,
    { waiting, deferred, mayWait }: Queue,
  ): IteratorResult<StatementCall, T> {
    let step = next
    while (!step.done) {
      const call = step.value
      if (call.wants === 'later') {
        waiting.push(...statementsOf(call))
        const result = { ...unseen }
        deferred.push({ call, result, at: waiting.length - 1 })
        step = program.next(result)
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
  return !step.done && step.value.name === name && step.value.wants === 'nothing' && name in bulkQueries
}

/** A rough number of bytes. */
function sizeOf({ params }: StatementCall): number {
  let size = 100
  for (const value of Object.values(params)) if (typeof value === 'string') size += value.length
  return size
}

/** Statements to send with the next one. */
interface Queue {
  readonly waiting: BoundStatement[]
  readonly deferred: Deferred[]
  /** Whether statements without a result may wait. */
  readonly mayWait: boolean
}

/** A statement whose result is completed when a later one is answered. */
interface Deferred {
  readonly call: StatementCall
  readonly result: StatementResult
  /** Its position in the request. */
  readonly at: number
}

function complete(deferred: readonly Deferred[], results: readonly BatchResult[]): void {
  for (const { call, result, at } of deferred) Object.assign(result, resultOf(call, results[at]!))
}

function resultOf({ name }: StatementCall, { rows, changes }: BatchResult): StatementResult {
  if (name === 'blobs') return { rows: joinPieces(rows), changes }
  return { rows: name === 'tail' ? completeTail(rows) : rows, changes }
}

/** The statements that return many rows. */
const rowReaders: Partial<Record<StatementName, RowReader>> = { path: pathRow, tail: tailRow }

interface Compiler {
  statementsOf(call: StatementCall): BoundStatement[]
  /** One statement for several calls that differ only in their parameters. */
  bulkOf(call: StatementCall, rows: readonly object[]): BoundStatement
}

/** Makes the statements of a call. Each text is prepared once. */
function compiler(tenant: string): Compiler {
  const known = new Map<string, readonly PreparedStatement[]>()
  const bulk = new Map<string, PreparedStatement>()

  return {
    statementsOf(call) {
      const params = { ...call.params, tenant }
      return textsOf(call).map(statement => bind(statement, params))
    },
    bulkOf({ name }, rows) {
      const statement = bulk.get(name) ?? prepare(bulkQueries[name as StatementName]!, name)
      bulk.set(name, statement)
      const columns = statement.params.map(param => [param.name, rows.map(row => row[param.name as never])])
      return bind(statement, { ...Object.fromEntries(columns), tenant })
    },
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

/** Whether a warning says that only this server has the commit: the wait for a standby was cancelled, or the
 *  server is shutting down. A cancelled wait has the SQLSTATE of any warning and a translated text, so it
 *  is recognised by the server's function that raises it. */
function isUnconfirmed(warning: string): boolean {
  return warning === 'SyncRepWaitForLSN'
}

function rethrow(error: unknown): never {
  throw translate(error)
}

/** The query as the text of a tsquery. Any token can be used: within quotes, only the quote itself and the
 *  backslash have a meaning. */
export function matchText({ all, prefixes, any, none }: TokenMatch): string {
  const parts = [...all.map(quote), ...prefixes.map(prefix => `${quote(prefix)}:*`)]
  for (const list of any) parts.push(`(${list.map(quote).join(' | ')})`)
  parts.push(...none.map(token => `!${quote(token)}`))
  return parts.join(' & ')
}

function quote(token: string): string {
  return `'${token.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
