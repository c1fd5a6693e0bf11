import { setTimeout as pause } from 'node:timers/promises'
import { OutcomeUnknownError, SkeinError, UnavailableError } from '../../core/errors.ts'
import type { Stepwise } from '../../core/large/stepwise.ts'
import type { Source } from '../../core/source.ts'
import { leaseMs as usualLeaseMs } from '../../core/turn.ts'
import { retryChannel } from '../../system/debug.ts'
import { finishInTurns } from '../../system/finish-in-turns.ts'
import { systemSource } from '../../system/source.ts'
import {
  type Engine,
  indexForms,
  type LargeProgram,
  type Program,
  type StatementCall,
  type TokenMatch,
  type WriteMode,
} from '../engine/engine.ts'
import type { ParamsOf } from '../engine/statements.ts'
import { appendQueue, type SendAppend } from './append-queue.ts'
import type { BatchResult, Naming } from './batch.ts'
import { compactTables, remnantsOfDeletion } from './compact.ts'
import {
  isBroken,
  isLockTimeout,
  isLostRace,
  isMisplaced,
  isOfOther,
  translate,
  translateCommit,
} from './errors.ts'
import { type PooledConnection, type PostgresPool, withConnection } from './pool.ts'
import { type BoundStatement, bind, prepare } from './prepared.ts'
import { callResult, complete, type Deferred, type LeaseClock, programRunner } from './run-program.ts'

/** How often a transaction is run before a lost race is reported to the caller. */
const mostTries = 10

/** How often prepared statements may be missing, or there already, before they are sent without names. A
 *  pooler with connections that others use causes this until all of them know our statements. */
const mostMisplaced = 3

const begin = bind(prepare('BEGIN ISOLATION LEVEL READ COMMITTED'), {})
const beginReading = bind(prepare('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'), {})
const relax = bind(prepare('SET LOCAL synchronous_commit = off'), {})
// The search index: closing the store does not wait for a program that keeps its tables locked.
const limitWaits = bind(prepare(`SET LOCAL lock_timeout = '250ms'`), {})
const commit = bind(prepare('COMMIT'), {})
// Without a name: after an error, it must not fail because the server does not know it.
const rollback = bind({ ...prepare('ROLLBACK'), name: '' }, {})

export interface PostgresEngineOptions {
  readonly tenant: string
  readonly naming: Naming
  readonly source: Source
  /** Default: 30,000. */
  readonly leaseMs?: number
  close(): Promise<void>
}

/** An engine that can also run a whole transaction in one round trip. */
export interface PostgresEngine extends Engine {
  readonly tenant: string
  /** The parameters of statements that store or read leases. */
  leaseClock(): LeaseClock
  /** Runs statements as a transaction of their own, in one round trip. Does not retry after a lost race. */
  once(statements: readonly BoundStatement[]): Promise<readonly BatchResult[]>
  /** The same for an append. If many run at once, some share a request and its commit. */
  readonly appendOnce: SendAppend
}

export function leaseClockOf(source: Source): () => LeaseClock {
  if (source === systemSource) return () => ({ client_now: source.now(), server_now: null })
  return () => {
    const now = source.now()
    return { client_now: now, server_now: now }
  }
}

/** Transactions over a pool, each on one connection and for one tenant. */
export function postgresEngine(
  pool: PostgresPool,
  { tenant, naming, source, leaseMs = usualLeaseMs, close }: PostgresEngineOptions,
): PostgresEngine {
  const leaseClock = leaseClockOf(source)
  const { statementsOf, drive, defer } = programRunner(tenant, leaseClock)
  const largeWrites = new Set<Promise<unknown>>()
  let isClosing = false
  return {
    tenant,
    source,
    leaseMs,
    leaseClock,
    rowsPerStatement: null,
    query,
    read,
    write,
    writeLarge,
    once,
    appendOnce: appendQueue(once),
    inspect,
    removeTraces,
    compact,
    matchText,
    indexForm: indexForms.pairNumbers,
    close: closeAfterLarge,
    isJoined: () => false,
    isFree: () => true,
    noteUnindexed: () => undefined,
    indexElsewhere: async () => false,
    // A search reads the entries that wait, about 1 ms for so many.
    tidyAfter: 1_024,
  }

  /** Runs work that can be repeated. */
  async function onConnection<T>(work: (link: PooledConnection) => Promise<T>): Promise<T> {
    for (let misplaced = 0; ; misplaced++) {
      try {
        return await withConnection(pool, misplaced < mostMisplaced ? naming : 'unnamed', work)
      } catch (error) {
        if (!(isMisplaced(error) || isOfOther(error)) || misplaced === mostMisplaced) throw error
      }
    }
  }

  async function query<T>(program: () => Program<T>): Promise<T> {
    return onConnection(async link => drive(program(), link, [], { mayWait: false })).catch(rethrow)
  }

  async function read<T>(program: () => Program<T>, expected: 'one' | 'many' = 'many'): Promise<T> {
    return onConnection(async link => {
      const early = expected === 'one' ? await driveOne(program(), link) : null
      if (early) return early.value
      const waiting = [beginReading]
      try {
        return await drive(program(), link, waiting, { mayWait: false })
      } finally {
        // The end of a read transaction needs no confirmation, so the result is returned first.
        if (waiting.length === 0) link.keepUntil(link.run([rollback]).catch(link.spoil))
      }
    }).catch(rethrow)
  }

  async function write<T>(program: () => Program<T>, mode: WriteMode = 'durable'): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await onConnection(link => transact(link, program(), settingsFor(mode)))
      } catch (error) {
        const isLocked = mode === 'bulk' && isLockTimeout(error)
        const mayRetry = isLocked ? !isClosing : isLostRace(error) && tries < mostTries
        if (!mayRetry) throw translate(error)
        const pauseMs = Math.random() * 5 * Math.min(tries, mostTries)
        if (retryChannel.hasSubscribers)
          retryChannel.publish({ what: isLocked ? 'lock' : 'race', attempt: tries, pauseMs, error })
        await pause(pauseMs)
      }
    }
  }

  async function writeLarge<T>(making: Stepwise<LargeProgram<T>>): Promise<T> {
    if (isClosing) throw new UnavailableError('the store is closed', { hint: 'Open it again' })
    const written = finishInTurns(making).then(({ program }) => write(program, 'large'))
    largeWrites.add(written)
    return written.finally(() => largeWrites.delete(written))
  }

  /** Writes that are still being made have no connection yet, for which the pool would wait. */
  async function closeAfterLarge(): Promise<void> {
    isClosing = true
    if (largeWrites.size > 0) await Promise.allSettled(largeWrites)
    await close()
  }

  async function transact<T>(
    link: PooledConnection,
    program: Program<T>,
    settings: readonly BoundStatement[],
  ): Promise<T> {
    const waiting = [begin, ...settings]
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
    return onConnection(link => finish(link, statements))
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
    let results: readonly BatchResult[]
    try {
      results = await link.run(statements)
    } catch (error) {
      // The server skips what follows an error, also the end of the transaction.
      if (!isOne && !isBroken(error)) await link.run([rollback]).catch(link.spoil)
      throw error
    }
    complete(deferred, results)
    step = program.next(callResult(call, results.at(isOne ? -1 : -2)!))
    return step.done ? { value: step.value } : finishByContent(program, step.value, link)
  }

  /** Ends a program whose last statements read blobs and their parts, without a transaction: a blob never
   *  changes, so it is the same on every snapshot. Null if one was removed meanwhile, or if the program needs
   *  more. */
  async function finishByContent<T>(
    program: Program<T>,
    next: StatementCall,
    link: PooledConnection,
  ): Promise<{ value: T } | null> {
    for (let call = next; call.name === 'blobs' || call.name === 'blobParts'; ) {
      const { hashes } = call.params as ParamsOf<'blobs' | 'blobParts'>
      const result = callResult(call, (await link.run(statementsOf(call))).at(-1)!)
      const found = new Set((result.rows as readonly { readonly hash: string }[]).map(({ hash }) => hash))
      if (found.size < hashes.length) return null
      const step = program.next(result)
      if (step.done) return { value: step.value }
      call = step.value
    }
    return null
  }
}

/** Whether a warning says that only this server has the commit: the wait for a standby was cancelled, or the
 *  server is shutting down. A cancelled wait has the SQLSTATE of any warning and a translated text, so it
 *  is recognised by the server's function that raises it. */
function isUnconfirmed(warning: string): boolean {
  return warning === 'SyncRepWaitForLSN'
}

/** The settings of a transaction. */
function settingsFor(mode: WriteMode): readonly BoundStatement[] {
  if (mode === 'bulk') return [relax, limitWaits]
  return mode === 'relaxed' ? [relax] : []
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
