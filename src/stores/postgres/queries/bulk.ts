import type { ParamsOf, StatementName } from '../../engine/statements.ts'
import { putEntriesSql } from './search.ts'

/** The types of the columns. `hex` are bytes that are given as text. */
export type ColumnType = 'text' | 'int' | 'bigint' | 'bytea' | 'uuid' | 'hex'

/** The table of an insert, and the types of its columns beside the tenant. Each column has the name of its
 *  parameter. */
export interface BulkInsert {
  readonly table: string
  readonly columns: Readonly<Record<string, ColumnType>>
}

/** Plain inserts, which can write the rows of many calls at once. If a row is stored already, the transaction
 *  fails and is run again. */
export const bulkInserts: { readonly [N in StatementName]?: BulkInsert } = {
  insertMessageRecord: {
    table: 'skein.messages',
    columns: {
      conv: 'uuid',
      seq: 'int',
      parent_seq: 'int',
      run: 'int',
      depth: 'int',
      tokens: 'int',
      turn: 'int',
      path_tokens: 'bigint',
      at: 'bigint',
      step: 'int',
      id: 'text',
      role: 'text',
      label: 'text',
      body_hash: 'hex',
      body: 'text',
      erased: 'text',
    },
  },
  insertTurnRecord: {
    table: 'skein.turns',
    columns: {
      conv: 'uuid',
      key: 'text',
      branch: 'text',
      first: 'int',
      last: 'int',
      last_step: 'int',
      status: 'text',
      model: 'text',
      prompt_hash: 'text',
      usage: 'text',
      holder: 'text',
      lease_until: 'bigint',
      started_at: 'bigint',
      ended_at: 'bigint',
    },
  },
  insertEvent: {
    table: 'skein.events',
    columns: { conv: 'uuid', n: 'int', type: 'text', at: 'bigint', data: 'text' },
  },
}

/** Other statements that can do the work of many calls at once. */
export const bulkStatements: { readonly [N in StatementName]?: BulkStatement<N> } = {
  putSearchEntry: {
    sql: putEntriesSql,
    params: entries => {
      let count = 0
      const ends = entries.map(({ pairs }) => (count += pairs.length))
      return {
        convs: entries.map(({ conv }) => conv),
        seqs: entries.map(({ seq }) => seq),
        times: entries.map(({ at }) => at),
        entries: entries.map(({ tokens }) => tokens),
        pairs: entries.flatMap(({ pairs }) => pairs),
        last_pairs: ends,
        first_pairs: entries.map(({ pairs }, i) => ends[i]! - pairs.length + 1),
      }
    },
  },
}

interface BulkStatement<N extends StatementName> {
  readonly sql: string
  /** The parameters of the statement, for the parameters of all calls. */
  readonly params: (calls: readonly ParamsOf<N>[]) => Readonly<Record<string, unknown>>
}

/** An insert whose parameters are lists, one for each column. */
export function listInsertSql({ table, columns }: BulkInsert): string {
  const names = Object.keys(columns)
  const values = Object.entries(columns).map(([name, type]) =>
    type === 'uuid' ? `u.${name}::uuid` : type === 'hex' ? `decode(u.${name}, 'hex')` : `u.${name}`,
  )
  const lists = Object.entries(columns).map(
    ([name, type]) => `@${name}::${type === 'uuid' || type === 'hex' ? 'text' : type}[]`,
  )
  return `
    INSERT INTO ${table} (tenant, ${names.join(', ')})
    SELECT @tenant::text, ${values.join(', ')}
    FROM unnest(${lists.join(', ')}) AS u(${names.join(', ')})`
}

export function copySql({ table, columns }: BulkInsert): string {
  return `COPY ${table} (tenant, ${Object.keys(columns).join(', ')}) FROM STDIN (FORMAT binary)`
}
