import type { Severity } from '../../core/finding.ts'
import type { Stepwise } from '../../core/large/stepwise.ts'
import type { CompactReceipt, Remnant } from '../../core/removal.ts'
import type { Source } from '../../core/source.ts'
import type { ParamsOf, RowOf, StatementName } from './statements.ts'

/** A statement that a program asks its engine to run. */
export interface StatementCall {
  /** The name of the statement: a member of the dialect's `queries`. */
  readonly name: string
  /** The parameters by name. A list of conversations also has `filters`, which its text depends on. */
  readonly params: object
  /** What the program reads of the result. If nothing, an engine may send the statement later, together
   *  with the next one, as long as the transaction fails if the statement fails. If the rows are only read
   *  later, an engine may do the same, and completes the result when the next one is answered. */
  readonly wants: 'rows' | 'count' | 'nothing' | 'later'
}

/** The result of a statement. */
export interface StatementResult {
  /** The rows that it returned. */
  readonly rows: readonly unknown[]
  /** The number of written rows. */
  readonly changes: number
}

/** An operation of a store in one transaction, written once for all engines.
 *
 *  A program is a generator: it yields one statement after another and receives the results. Five verbs
 *  yield a statement: `all` and `first` return rows, `later` returns rows that are read after the next
 *  statement, `run` returns nothing, `countChanges` returns the number of written rows. A program calls
 *  another program with `yield*`.
 *
 *  Three runners execute programs. SQLite runs a program synchronously (`sqlite/engine.ts`). PostgreSQL
 *  awaits each result and reruns the program from the start after a lost race (`postgres/engine.ts`).
 *  `verify` runs each statement separately and throws the engine's errors into the program, so that it
 *  continues after unreadable data (`store/verify.ts`). Only there can a program catch the errors of an
 *  engine.
 *
 *  A program may run several times, so it keeps no state outside itself, performs no I/O and reads no
 *  clock: `now` is a parameter. */
export type Program<T> = Generator<StatementCall, T, StatementResult>

/** A program with large parameters. */
export interface LargeProgram<T> {
  /** The program. */
  readonly program: () => Program<T>
  /** The large ones among its parameters. An engine may send them before the transaction begins. */
  readonly values: readonly (string | Uint8Array)[]
}

/** A query for the search index: messages that contain all of these tokens. */
export interface TokenMatch {
  /** All of these tokens. */
  readonly all: readonly string[]
  /** For each prefix, a token that begins with it. */
  readonly prefixes: readonly string[]
  /** At least one token of each list. A list is not empty. */
  readonly any: readonly (readonly string[])[]
  /** None of these tokens. */
  readonly none: readonly string[]
}

/** A problem that an engine finds in its own files. */
export interface EngineFault {
  /** Whether content is affected. */
  readonly severity: Severity
  /** The problem, for people. */
  readonly what: string
}

/** How a transaction is written. Default: `durable`. */
export type WriteMode =
  | 'durable'
  | 'large'
  | 'relaxed'
  | 'bulk'
  | 'removing'
  | 'removingSome'
  | 'removingLast'

/** `tidy` is a part of the work that the index needs after writes; `clear` empties it. */
export type IndexWork = 'tidy' | 'clear'

/** The form of a search index whose pairs of tokens are tokens, and of one whose pairs are numbers of their
 *  own. */
export const indexForms = { pairTokens: 2, pairNumbers: 3 } as const

/** The port of a driver: transactions over its own SQL. Errors of the database are thrown as
 *  SkeinErrors. */
export interface Engine {
  /** The clock and the ids of new conversations. */
  readonly source: Source
  /** How long a holder keeps a branch without renewing its turn. */
  readonly leaseMs: number
  /** Most rows that a statement should look at, because the process does nothing else meanwhile. Null if the
   *  process does not wait for statements. */
  readonly rowsPerStatement: number | null
  /** Runs each statement on its own, for programs that need no common snapshot. */
  query<T>(program: () => Program<T>): Promise<T>
  /** Runs all statements on one snapshot. If one request is expected, an engine may send it as a transaction
   *  of its own, and a program that needs more begins again. Blobs never change, so they may follow. */
  read<T>(program: () => Program<T>, expected?: 'one' | 'many'): Promise<T>
  /** Runs all statements in one transaction. `relaxed` does not wait for the disk, nor does `bulk`, for
   *  transactions that write much, one after another. `large` is durable, for more than 1 MB. `removing`
   *  also overwrites the bytes of deleted rows, if the engine can. So do the pieces of a long removal:
   *  `removingSome` need not wait for the disk, `removingLast` does. The programs of `bulk` and of pieces
   *  read few rows, and can be repeated. */
  write<T>(program: () => Program<T>, mode?: WriteMode): Promise<T>
  /** The same for a program with more than 1 MB of values, which are still being made. Takes its place in the
   *  order of writes at once. An engine whose writes run at the moment of the call makes them without a
   *  pause. */
  writeLarge<T>(making: Stepwise<LargeProgram<T>>): Promise<T>
  /** Removes what earlier transactions deleted from the bytes of the engine's own files, as far as it can be
   *  done quickly, and returns where it may remain. Does not throw: the deletion itself is committed. */
  removeTraces(): Promise<readonly Remnant[]>
  /** Rewrites all tables. */
  compact(): Promise<CompactReceipt>
  /** The problems that the engine finds in its own files, or none if it cannot check them. Throws the reason
   *  of the signal when it is aborted. */
  inspect(signal?: AbortSignal): Promise<readonly EngineFault[]>
  /** Whether a write that begins now is part of a transaction of the caller, who commits it. */
  isJoined(): boolean
  /** Whether a background task may write now. False inside a transaction of a handle's owner. */
  isFree(): boolean
  /** Does work on the search index in another process, if it would block this one for long. Returns whether
   *  it is done; if not, the caller writes it. Idle work does not keep this process alive. */
  indexElsewhere(work: IndexWork, isIdle?: boolean): Promise<boolean>
  /** Messages to index before `tidyIndex` pays off. */
  readonly tidyAfter: number
  /** Says that there are messages that are not in the search index. */
  noteUnindexed(): void
  /** The form of the search index, if every database has the same (3: pairs of tokens are numbers of their
   *  own). Otherwise a statement reads it, and pairs are tokens. */
  readonly indexForm?: number
  /** The text of a query in the language of the engine's index. */
  matchText(match: TokenMatch): string
  /** Closes what the engine owns. */
  close(): Promise<void>
}

/** Returns all rows. */
export function* all<N extends StatementName>(name: N, params: ParamsOf<N>): Program<readonly RowOf<N>[]> {
  return (yield { name, params, wants: 'rows' }).rows as readonly RowOf<N>[]
}

/** Returns the first row, if there is one. */
export function* first<N extends StatementName>(name: N, params: ParamsOf<N>): Program<RowOf<N> | undefined> {
  return (yield { name, params, wants: 'rows' }).rows[0] as RowOf<N> | undefined
}

/** Asks for rows together with the next statement. They can be read once that statement has its result. */
export function* later<N extends StatementName>(
  name: N,
  params: ParamsOf<N>,
): Program<() => readonly RowOf<N>[]> {
  const result = yield { name, params, wants: 'later' }
  return () => result.rows as readonly RowOf<N>[]
}

/** Runs a statement for its effect. */
export function* run<N extends StatementName>(name: N, params: ParamsOf<N>): Program<void> {
  yield { name, params, wants: 'nothing' }
}

/** Runs a statement and returns the number of written rows. */
export function* countChanges<N extends StatementName>(name: N, params: ParamsOf<N>): Program<number> {
  return (yield { name, params, wants: 'count' }).changes
}

/** Runs a program to its end, statement by statement, on a database that answers at once. A database behind
 *  a network does the same with `await`. */
export function runProgram<T>(program: Program<T>, call: (call: StatementCall) => StatementResult): T {
  let step = program.next()
  while (!step.done) step = program.next(call(step.value))
  return step.value
}
