import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { isFull } from '../../battery/size.ts'
import { type Pooler, pgbouncer, startPgbouncer } from '../../support/pgbouncer.ts'
import { describeContract } from '../contract.ts'
import { freshDatabase, openPool } from './database.ts'

const url = await freshDatabase()

describe.skipIf(pgbouncer === undefined)('PgBouncer in transaction mode', () => {
  let pooler: Pooler
  beforeAll(async () => {
    pooler = await startPgbouncer(url)
  })
  afterAll(() => pooler[Symbol.asyncDispose]())

  /** Each caller appends turns to a conversation of its own. Returns the texts that are stored. */
  async function crowd(stores: readonly Store[], callers: number, turns: number): Promise<string[][]> {
    return Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        const store = stores[caller % stores.length]!
        const { branch } = await store.create({ key: `caller:${crypto.randomUUID()}` })
        let { head } = branch
        for (let turn = 0; turn < turns; turn++) {
          const step = { key: `turn-${turn}`, step: 0 }
          head = (await store.append(branch, head, [say(`${turn}`)], { turn: step })).head
          await store.updateConversation(branch.conversationId, { title: `${turn}` })
        }
        return (await pathOf(store, head!)).map(textOf)
      }),
    )
  }

  it('migrates and stores everything, with many callers on few connections of the server', async () => {
    const stores = await Promise.all(
      [1, 2, 3, 4].map(() => openPostgresStore(pooler.through(url), { pool: { max: 5 } })),
    )
    const expected = Array.from({ length: 10 }, (_, turn) => `${turn}`)
    for (const texts of await crowd(stores, 20, 10)) expect(texts).toEqual(expected)
    expect(await stores[0]!.countConversations()).toBe(20)
    for (const store of stores) await store.close()
  })

  it('works on a pool of the caller too', async () => {
    const store = await postgresStore(openPool(pooler.through(url), { max: 5 }), { tenant: 'borrowed' })
    for (const texts of await crowd([store], 10, 5)) expect(texts).toHaveLength(5)
  })

  let tenants = 0
  if (isFull)
    describeContract({
      name: 'behind PgBouncer',
      open: async source => {
        const options = { source, tenant: `tenant ${++tenants}`, indexing: 'manual' } as const
        const open = () => openPostgresStore(pooler.through(url), { ...options, pool: { max: 4 } })
        const store = await open()
        return { store, reopen: open, dispose: () => store.close() }
      },
    })

  it('works without prepared statements too', async () => {
    const store = await openPostgresStore(`${pooler.through(url)}&prepared=off`, { tenant: 'off' })
    for (const texts of await crowd([store], 10, 5)) expect(texts).toHaveLength(5)
    await store.close()
  })
})

describe('the setting prepared', () => {
  /** The names of the statements that the server remembers for the connection of a store. */
  async function remembered(target: string, options: Parameters<typeof postgresStore>[1] = {}) {
    const pool = openPool(target, { max: 1 })
    const store = await postgresStore(pool, options)
    await store.create()
    const { rows } = await pool.query(`select name from pg_prepared_statements where name <> ''`)
    await pool.end()
    return rows.length
  }

  it('decides whether the server remembers statements', async () => {
    expect(await remembered(url)).toBeGreaterThan(0)
    expect(await remembered(url, { prepared: 'off' })).toBe(0)
    expect(await remembered(url, { prepared: 'auto' })).toBeGreaterThan(0)
  })

  it('is read from the URL, which keeps its other parameters', async () => {
    const separator = url.includes('?') ? '&' : '?'
    for (const value of ['off', 'auto']) {
      const store = await openPostgresStore(`${url}${separator}prepared=${value}&application_name=mine`)
      await store.create()
      await store.close()
    }
    const misspelt = openPostgresStore(`${url}${separator}prepared=no`)
    await expect(misspelt).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/prepared.*neither auto nor off/),
    })
  })
})
