/**
 * `skein/driver`: the parts of a driver of your own. A driver with SQL implements an `Engine` and passes it
 * to `storeOver`, which checks all input and runs the same programs as the drivers of Skein: only the
 * statements and the transactions are the driver's. `sqliteDialect` has the tables and statements for any
 * binding of SQLite. A driver without SQL implements the `Store` port directly, with the functions for ids
 * and tokens. `contract` of `skein/testing` says whether it is right. docs/drivers.md has a whole one.
 */
import type { TokenMatch } from './engine/engine.ts'
import type { Migration } from './engine/schema.ts'
import { compileQuery, ftsQuery } from './sqlite/dialect.ts'
import { migrations } from './sqlite/migrations.ts'
import { queries } from './sqlite/queries/index.ts'

export type { Body, NewBlob } from '../core/body.ts'
export { hashMessage, sha256Hex } from '../core/hash.ts'
export { finishAtOnce, type Stepwise } from '../core/large/stepwise.ts'
export { type PreparedMessage, prepareMessages } from '../core/prepare.ts'
export { type IndexedWords, indexTokens, type Token, tokenize } from '../core/search/tokenize.ts'
export { finishInTurns } from '../system/finish-in-turns.ts'
export { systemSource } from '../system/source.ts'
export {
  type Engine,
  type EngineFault,
  type IndexWork,
  type LargeProgram,
  type Program,
  runProgram,
  type StatementCall,
  type StatementResult,
  type TokenMatch,
  type WriteMode,
} from './engine/engine.ts'
export type { Migration } from './engine/schema.ts'
export { withIndexing } from './store/background-index.ts'
export { storeOver } from './store/store-over.ts'

/** The SQL of a statement: one text, several to run in order, or a function of the filters of a list. */
export type SqlText = string | readonly string[] | ((filters: readonly never[]) => string)

/** The SQL of a database, for an engine that runs it. */
export interface SqlDialect {
  /** The tables, as steps to run in order. `skein_state` stores the version of the last one as `schema`. */
  readonly migrations: readonly Migration[]
  /** A text for each statement. Parameters are `@name`. */
  readonly queries: Readonly<Record<string, SqlText>>
  /** Replaces each `@name` by a mark of the binding, such as `?`, and returns the names in that order. */
  compileQuery(
    text: string,
    mark: (position: number) => string,
  ): { readonly sql: string; readonly names: readonly string[] }
  /** A query for the search index, in the language of the database. */
  matchText(match: TokenMatch): string
}

/** The tables and statements of Skein's own SQLite driver. A file that another binding has written with them
 *  is a store like any other. Needs SQLite 3.45 with FTS5.
 *
 * @example
 * ```ts
 * import { sqliteDialect } from 'skein/driver'
 *
 * const { sql, names } = sqliteDialect.compileQuery('SELECT @name, @key', () => '?')
 * console.log(sql, names) // SELECT ?, ? [ 'name', 'key' ]
 * ```
 */
export const sqliteDialect: SqlDialect = { migrations, queries, compileQuery, matchText: ftsQuery }
