import type { Severity } from '../../core/finding.ts'
import type { Source } from '../../core/source.ts'
import type { ParamsOf, RowOf, StatementName } from './statements.ts'

/** One statement that a program asks its engine to run. */
export interface StatementCall {
  readonly name: StatementName
  readonly params: object
  /** What the program makes of the answer. Where it wants nothing, an engine may send the statement later,
   *  together with the next, as long as the transaction fails if the statement does. */
  readonly wants: 'rows' | 'count' | 'nothing'
}

export interface StatementResult {
  readonly rows: readonly unknown[]
  /** Rows that were written. */
  readonly changes: number
}

/** What a store does in one transaction, written once for all engines: it asks for one statement after
 *  another and goes on with the answers. SQLite runs it at once, PostgreSQL over the network. A program
 *  may be run again from the start, so it keeps nothing outside itself. */
export type Program<T> = Generator<StatementCall, T, StatementResult>

/** What is asked of the index: messages that hold all of these tokens. */
export interface TokenMatch {
  readonly all: readonly string[]
  /** For each of these, a token that begins so. */
  readonly prefixes: readonly string[]
  /** At least one of these, if there are any. */
  readonly any: readonly string[]
  /** None of these. */
  readonly none: readonly string[]
}

/** Something that an engine finds wrong with its own files. */
export interface EngineFault {
  readonly severity: Severity
  readonly what: string
}

/** What a driver gives: transactions over its own SQL. Errors of the engine come out as SkeinErrors. */
export interface Engine {
  readonly source: Source
  /** Runs each statement by itself: for programs of which any moment is as good as another. */
  query<T>(program: () => Program<T>): Promise<T>
  /** Runs all statements on one snapshot. */
  read<T>(program: () => Program<T>): Promise<T>
  /** Runs all statements in one transaction. `relaxed` does not wait for the disk. */
  write<T>(program: () => Program<T>, durability?: 'durable' | 'relaxed'): Promise<T>
  /** Returns the faults that the engine finds in its own files, or none if it cannot check them. */
  inspect(): Promise<readonly EngineFault[]>
  /** How the engine's index is asked. */
  matchText(match: TokenMatch): string
  close(): Promise<void>
}

/** Asks for all rows. */
export function* all<N extends StatementName>(name: N, params: ParamsOf<N>): Program<readonly RowOf<N>[]> {
  return (yield { name, params, wants: 'rows' }).rows as readonly RowOf<N>[]
}

/** Asks for the first row, if there is one. */
export function* first<N extends StatementName>(name: N, params: ParamsOf<N>): Program<RowOf<N> | undefined> {
  return (yield { name, params, wants: 'rows' }).rows[0] as RowOf<N> | undefined
}

/** Runs a statement for its effect. */
export function* run<N extends StatementName>(name: N, params: ParamsOf<N>): Program<void> {
  yield { name, params, wants: 'nothing' }
}

/** Runs a statement for its effect and asks how many rows it wrote. */
export function* countChanges<N extends StatementName>(name: N, params: ParamsOf<N>): Program<number> {
  return (yield { name, params, wants: 'count' }).changes
}
