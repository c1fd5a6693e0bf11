import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Appended, AppendOptions, Store } from '../../../src/core/ports.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { type OwnPostgres, startOwnPostgres } from '../../support/postgres.ts'
import { openPool } from './database.ts'

/** A primary whose standby is away: a commit is on its own disk and waits. If an administrator cancels the
 *  wait, the commit succeeds with a warning, but a fail-over would lose it. */
let server: OwnPostgres
let strict: string
let local: string

beforeAll(async () => {
  server = await startOwnPostgres({ settings: { synchronous_standby_names: 'away' } })
  const relaxed = new URL(server.url)
  relaxed.searchParams.set('options', '-c synchronous_commit=local')
  local = relaxed.href
  strict = server.url
  await (await openPostgresStore(local)).close()
}, 60_000)
afterAll(() => server.stop())

/** Cancels every wait for the standby until the call has an outcome. Returns it, and whether it waited. */
async function outcomeOf(call: Promise<unknown>): Promise<readonly [string, string]> {
  let outcome: string | undefined
  void call.then(
    value => (outcome = (value as Appended).outcome),
    error => (outcome = error.code ?? String(error)),
  )
  const pool = openPool(local, { max: 1 })
  const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
  let cancelled = 0
  await expect
    .poll(
      async () => {
        cancelled += (await pool.query(cancel)).rowCount ?? 0
        return outcome
      },
      { timeout: 30_000 },
    )
    .toBeDefined()
  await pool.end()
  return [cancelled > 0 ? 'waited' : 'did not wait', outcome!]
}

describe('a commit whose wait for the standby is cancelled', () => {
  it.each([
    ['in one statement', 'Hello'],
    ['in a transaction', `large ${'blob '.repeat(5_000)}`],
  ])('has an unknown outcome, which the turn key resolves, for an append %s (R22)', async (way, content) => {
    const setup = await openPostgresStore(local, { indexing: 'manual' })
    const { branch } = await setup.create()
    const store = await openPostgresStore(strict, { indexing: 'manual', pool: { max: 1 } })
    const turn: AppendOptions = { turn: { key: way, step: 0 } }
    const append = (to: Store) => to.append(branch, null, [{ role: 'user', content }], turn)

    expect(await outcomeOf(append(store))).toEqual(['waited', 'outcome_unknown'])
    // The message is visible here. Without a wait of its own, the retry would acknowledge a commit that only
    // this server has.
    expect((await setup.getBranch(branch)).head).not.toBeNull()
    expect(await outcomeOf(append(store))).toEqual(['waited', 'outcome_unknown'])
    // Where no standby has to confirm, the retry returns the stored step.
    expect((await append(setup)).outcome).toBe('replayed')
    expect((await setup.listMessages({ conversationId: branch.conversationId })).items).toHaveLength(1)
    await store.close()
    await setup.close()
  })
})
