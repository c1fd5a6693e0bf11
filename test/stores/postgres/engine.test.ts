import { beforeAll, describe, expect, it } from 'vitest'
import type { ConversationId } from '../../../src/core/ids.ts'
import { all, first, type Program, run } from '../../../src/stores/engine/engine.ts'
import { type PostgresEngine, postgresEngine } from '../../../src/stores/postgres/engine.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { migrateDatabase } from '../../../src/stores/postgres/migrate.ts'
import { sweepStart } from '../../../src/stores/programs/sweep.ts'
import { systemSource } from '../../../src/system/source.ts'
import { countTrips, freshDatabase, openPool } from './database.ts'

const url = await freshDatabase()
const pool = openPool(url)
beforeAll(() => migrateDatabase(pool))

function engineOn(target = pool): PostgresEngine {
  return postgresEngine(target, { tenant: 't', naming: 'named', source: systemSource, close: async () => {} })
}

/** A program that deadlocks if two callers lock two conversations in opposite order. */
function* lockBoth(ids: readonly ConversationId[]): Program<number> {
  for (const id of ids) {
    yield* first('lockConversation', { id })
    // Time for the other program to take its first lock.
    yield* all('expiredTasks', { now: 0, limit: 1, ...sweepStart })
  }
  return ids.length
}

describe('a program', () => {
  it('runs again after it was the victim of a deadlock', async () => {
    const store = await postgresStore(pool, { tenant: 't' })
    const ids = [(await store.create()).conversation.id, (await store.create()).conversation.id]
    const engine = engineOn()
    for (let round = 0; round < 3; round++) {
      const both = [ids, ids.toReversed()].map(order => engine.write(() => lockBoth(order)))
      expect(await Promise.all(both)).toEqual([2, 2])
    }
  })

  it('runs a limited number of times and then throws the last error', async () => {
    let runs = 0
    const event = { conv: systemSource.uuid(), n: 0, type: 'plan', at: 0, data: '{}' }
    const twice = engineOn().write(function* () {
      runs++
      yield* run('insertEvent', event)
      yield* run('insertEvent', event)
      yield* first('state', { name: 'seen' })
    })
    await expect(twice).rejects.toMatchObject({
      code: 'unavailable',
      cause: { code: '23505', constraint: 'events_pkey' },
    })
    expect(runs).toBe(10)
  })

  it('leaves nothing behind when it throws, and the connection stays usable', async () => {
    const single = openPool(url, { max: 1 })
    const engine = engineOn(single)
    const failing = engine.write(function* () {
      yield* run('putState', { name: 'half', value: 1 })
      yield* first('state', { name: 'half' })
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await engine.query(() => first('state', { name: 'half' }))).toBeUndefined()
    expect(single.totalCount).toBe(1)
  })

  it('finishes in one round trip, all or nothing, if it only writes', async () => {
    const { engine, trips } = counted()
    await engine.write(function* () {
      for (const name of ['a', 'b', 'c']) yield* run('putState', { name, value: 7 })
    })
    expect(trips()).toBe(1)
    expect(await engine.query(() => first('state', { name: 'c' }))).toEqual({ value: 7 })
  })

  it('sends nothing if it asks for nothing', async () => {
    const { engine, trips } = counted()
    const names: string[] = []
    await engine.write(function* () {
      for (const name of names) yield* run('putState', { name, value: 7 })
    })
    expect(trips()).toBe(0)
  })

  it('reads one snapshot, whatever others write meanwhile', async () => {
    const engine = engineOn()
    const put = (value: number) => engine.write(() => run('putState', { name: 'seen', value }))
    await put(1)
    const client = await pool.connect()
    await client.query('begin')
    await client.query(`lock table skein.turns in access exclusive mode`)
    const reading = engine.read(function* () {
      const before = yield* first('state', { name: 'seen' })
      // Waits for the lock, and so for the other's write.
      yield* first('openTurns', { conv: systemSource.uuid() })
      return [before, yield* first('state', { name: 'seen' })]
    })
    await expect.poll(() => waiting()).toBe(1)
    await put(2)
    await client.query('commit')
    client.release()
    expect(await reading).toEqual([{ value: 1 }, { value: 1 }])
  })

  it('relaxes durability for its own transaction only', async () => {
    const own = openPool(await freshDatabase(), { max: 1 })
    await migrateDatabase(own)
    await own.query(`
      create table seen (setting text);
      create function note() returns trigger language plpgsql as $$
        begin insert into seen values (current_setting('synchronous_commit')); return new; end $$;
      create trigger note before insert on skein.state for each row execute function note()`)
    const engine = engineOn(own)
    await engine.write(() => run('putState', { name: 'a', value: 1 }), 'relaxed')
    await engine.write(() => run('putState', { name: 'b', value: 1 }))
    expect((await own.query('select setting from seen')).rows).toEqual([
      { setting: 'off' },
      { setting: 'on' },
    ])
  })
})

/** An engine on one connection, and how often it was used. */
function counted(): { engine: PostgresEngine; trips: () => number } {
  const single = openPool(url, { max: 1 })
  const trips = countTrips(single)
  return { engine: engineOn(single), trips }
}

/** How many connections wait for a lock. */
async function waiting(): Promise<number> {
  const sql = `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  return (await pool.query(sql)).rows[0].n
}

describe('errors of the server', () => {
  it('report a read-only server', async () => {
    const readOnly = new URL(url)
    readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
    const store = await openPostgresStore(readOnly.href)
    await expect(store.create()).rejects.toMatchObject({ name: 'ReadOnlyError', cause: { code: '25006' } })
    const { branch } = await (await postgresStore(pool)).create()
    const append = store.append(branch, null, [{ role: 'user', content: 'Hello' }])
    await expect(append).rejects.toMatchObject({ code: 'read_only' })
    expect(await store.getBranch(branch)).toEqual(branch)
    expect((await store.search('hello')).items).toEqual([])
    await store.close()
  })

  it('replace the connection to a server that has become read-only', async () => {
    const own = await freshDatabase()
    const store = await openPostgresStore(own, { pool: { max: 1 } })
    // As a standby does, this connection refuses every write and new connections accept them.
    const name = new URL(own).pathname.slice(1)
    const onOwn = openPool(own)
    await onOwn.query(`alter database "${name}" set default_transaction_read_only = on`)
    await onOwn.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'skein'`)
    const outcome = () =>
      store.create().then(
        () => 'created',
        error => error.code,
      )
    await expect.poll(outcome).toBe('read_only')
    const setting = { options: '-c default_transaction_read_only=off' }
    await openPool(own, setting).query(`alter database "${name}" reset default_transaction_read_only`)
    expect(await outcome()).toBe('created')
    await store.close()
  })

  it('report an unavailable store if the server ends the connection', async () => {
    const store = await postgresStore(openPool(url))
    const { conversation } = await store.create()
    const client = await pool.connect()
    await client.query('begin')
    await client.query('select from skein.conversations where id = $1 for update', [conversation.id])
    const update = store.updateConversation(conversation.id, { title: 'No' })
    const rejected = expect(update).rejects.toMatchObject({ code: 'unavailable', cause: { code: '57P01' } })
    await expect.poll(waiting).toBe(1)
    await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`)
    await rejected
    await client.query('commit')
    client.release()
    // The next call gets a new connection.
    expect((await store.updateConversation(conversation.id, { title: 'Yes' })).title).toBe('Yes')
  })

  it('report an unavailable store if the server does not listen or no connection is free in time', async () => {
    const away = openPostgresStore('postgres://stranger@127.0.0.1:1/nothing')
    await expect(away).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'ECONNREFUSED' } })
    const small = openPool(url, { max: 1, connectionTimeoutMillis: 50 })
    const store = await postgresStore(small)
    const client = await small.connect()
    await expect(store.create()).rejects.toMatchObject({ code: 'unavailable' })
    client.release()
    await expect(store.create()).resolves.toBeDefined()
    await small.end()
    await expect(store.create()).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('do not end the process while the connection is idle', async () => {
    const store = await openPostgresStore(url, { pool: { max: 2 } })
    await store.create()
    await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'skein' and datname = current_database()`,
    )
    await expect
      .poll(() =>
        store.create().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
    await store.close()
    await store.close()
  })
})
