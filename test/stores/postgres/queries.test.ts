import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listFilters } from '../../../src/stores/engine/list-params.ts'
import type { StatementName } from '../../../src/stores/engine/statements.ts'
import { runBatch } from '../../../src/stores/postgres/batch.ts'
import { candidateColumns, chainColumns } from '../../../src/stores/postgres/chain-rows.ts'
import { migrateDatabase } from '../../../src/stores/postgres/migrate.ts'
import { bind, prepare } from '../../../src/stores/postgres/prepared.ts'
import {
  appendOutsideTurnsSql,
  continueTurnSql,
  openTurnSql,
} from '../../../src/stores/postgres/queries/append.ts'
import { queries } from '../../../src/stores/postgres/queries/index.ts'
import { quickClaimInSql, quickClaimSql, quickFinishSql } from '../../../src/stores/postgres/queries/tasks.ts'
import { samples } from '../samples.ts'
import { freshDatabase, openPool } from './database.ts'

const url = await freshDatabase()
const client = new Client({ connectionString: url })
beforeAll(async () => {
  await migrateDatabase(openPool(url))
  await client.connect()
})
afterAll(() => client.end())

type Text = readonly [title: string, text: string, params: object]

/** Every text of the driver. Lists of conversations without filters, with all of them, and with each
 *  one. */
const texts = (Object.keys(queries) as StatementName[]).flatMap((name): Text[] => {
  const text = queries[name]
  const params = samples[name]
  if (typeof text === 'function') {
    const each = listFilters.map((filter): Text => [`${name} by ${filter}`, text([filter]), params])
    return [[name, text([]), params], [`${name} by all`, text(listFilters), params], ...each]
  }
  return [text].flat().map((one, i): Text => [i === 0 ? name : `${name} (${i + 1})`, one, params])
})

describe('every statement', () => {
  beforeEach(() => client.query('BEGIN'))
  afterEach(() => client.query('ROLLBACK'))

  it.each(texts)('is accepted by a new schema with its declared parameters: %s (S3-68)', async (...one) => {
    const [, text, params] = one
    const run = runBatch(client, [
      bind(prepare(text), { client_now: 0, server_now: null, ...params, tenant: 'a' }),
    ])
    await expect(run).resolves.toHaveLength(1)
  })

  const columns = { ...chainColumns, candidates: candidateColumns }
  it.each(['path', 'tail', 'tailOfBranch', 'candidates'] as const)(
    'returns the columns that its rows are read by: %s',
    async name => {
      const { sql, params } = prepare(queries[name] as string)
      const given: Record<string, unknown> = { ...samples[name], tenant: 'a' }
      const { fields } = await client.query(
        sql,
        params.map(param => given[param.name]),
      )
      expect(fields.map(field => field.name)).toEqual(columns[name])
    },
  )

  it.each(
    Object.entries({
      appendOutsideTurns: appendOutsideTurnsSql,
      openTurn: openTurnSql,
      continueTurn: continueTurnSql,
      quickClaim: quickClaimSql,
      quickClaimIn: quickClaimInSql,
      quickFinish: quickFinishSql,
    }),
  )('is accepted as well: %s', async (_, text) => {
    await expect(client.query(`PREPARE it AS ${prepare(text).sql}`)).resolves.toBeDefined()
    await client.query('DEALLOCATE it')
  })
})

describe('every statement that reads or writes a table', () => {
  const all = [
    ...texts,
    ...Object.entries({
      appendOutsideTurns: appendOutsideTurnsSql,
      openTurn: openTurnSql,
      continueTurn: continueTurnSql,
      quickClaim: quickClaimSql,
      quickClaimIn: quickClaimInSql,
      quickFinish: quickFinishSql,
    }).map(([name, text]): Text => [name, text, {}]),
  ]
  // A caller without a token has no tenant yet: the token that the hash finds names it.
  const scoped = all.filter(([name]) => name !== 'tokenByHash')
  it.each(scoped)('names the tenant for each table: %s', (_, text) => {
    const tables = text.match(/\b(FROM|JOIN|UPDATE|USING) skein\.(?!(?:find|tail_before)\b)\w+/g) ?? []
    const inserts = text.match(/\bINSERT INTO skein\.\w+ \(\s*tenant,/g) ?? []
    expect(text.match(/\bINSERT INTO/g) ?? []).toHaveLength(inserts.length)
    expect(text.match(/\btenant( \|\| '')? = @tenant::text/g)?.length ?? 0).toBeGreaterThanOrEqual(
      tables.length,
    )
    for (const [call] of text.matchAll(/skein\.(?:find|tail_before)\(.*/gs))
      expect(call).toMatch(/^skein\.\w+\(\s*@tenant::text,/)
  })
})
