import type { Pool } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { SkeinError } from '../../../src/core/errors.ts'
import type { Store } from '../../../src/core/ports.ts'
import {
  type DeadConnectionOptions,
  endDeadConnections,
} from '../../../src/stores/postgres/dead-connections.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { noteOutage } from '../../../src/stores/postgres/outage.ts'
import { withConnection } from '../../../src/stores/postgres/pool.ts'
import { bind, prepare } from '../../../src/stores/postgres/prepared.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { pgbouncer, startPgbouncer } from '../../support/pgbouncer.ts'
import { freshDatabase, openPool } from './database.ts'
import { type Proxy as NetworkProxy, startProxy } from './proxy.ts'

/** A busy machine may take a second for a connection. */
const limits: DeadConnectionOptions = { quietMs: 200, probeMs: 10_000, bytesPerMs: 20, lookMs: 50 }

/** Where nothing answers, so that each attempt takes as long as it may. */
const short: DeadConnectionOptions = { probeMs: 2_000 }

function watchedPool(url: string, changed: DeadConnectionOptions = {}): Pool {
  const pool = openPool(url, { connectionTimeoutMillis: 10_000 })
  endDeadConnections(pool, { ...limits, ...changed })
  return pool
}

interface Network {
  readonly url: string
  readonly proxy: NetworkProxy
  readonly pool: Pool
  readonly store: Store
  readonly branch: BranchRef
  /** A pool on the server itself. */
  readonly direct: Pool
}

/** A store whose pool reaches the server through a proxy. */
async function storeThroughProxy(changed: DeadConnectionOptions = {}): Promise<Network> {
  const url = await freshDatabase()
  const proxy = await startProxy(url)
  const pool = watchedPool(proxy.url, changed)
  const store = await postgresStore(pool, { indexing: 'manual' })
  const { branch } = await store.create()
  return { url, proxy, pool, store, branch, direct: openPool(url) }
}

/** Locks a conversation, as an application may. Returns a function that releases it. */
async function lock({ direct, branch }: Network): Promise<() => Promise<void>> {
  const client = await direct.connect()
  await client.query('BEGIN')
  await client.query('SELECT FROM skein.conversations WHERE id = $1 FOR UPDATE', [branch.conversationId])
  return async () => {
    await client.query('ROLLBACK')
    client.release()
  }
}

/** Repeats a call while the server cannot be reached. Returns the messages of the errors. */
async function onceReachable(call: () => Promise<unknown>): Promise<ReadonlySet<string>> {
  const messages = new Set<string>()
  for (;;) {
    try {
      await call()
      return messages
    } catch (error) {
      if ((error as SkeinError).code !== 'unavailable') throw error
      messages.add((error as SkeinError).message)
    }
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** Waits until the server was asked so many times from now on. */
async function untilAsked(proxy: NetworkProxy, times: number): Promise<void> {
  for (const end = proxy.connections + times; proxy.connections < end; )
    await new Promise(resolve => setImmediate(resolve))
}

const turn = { turn: { key: 'turn', step: 0 } }

describe('a network that swallows requests', () => {
  it.each(['these', 'all'] as const)(
    'ends in an error, and a retry stores the turn once (%s)',
    async what => {
      const { proxy, store, branch } = await storeThroughProxy(what === 'all' ? short : {})
      const restore = proxy.swallow(what)
      const unavailable = { code: expect.stringMatching(/^(unavailable|outcome_unknown)$/) }
      await expect(store.append(branch, null, [say('heron')], turn)).rejects.toMatchObject(unavailable)
      if (what === 'all')
        await expect(store.listConversations()).rejects.toMatchObject({ code: 'unavailable' })
      restore()
      await onceReachable(() => store.append(branch, null, [say('heron')], turn))
      expect((await store.getConversation(branch.conversationId)).messages).toBe(1)
    },
  )

  it('does not make close() wait', async () => {
    const url = await freshDatabase()
    const proxy = await startProxy(url)
    const store = await openPostgresStore(proxy.url)
    const { branch } = await store.create()
    proxy.swallow('these')
    const appended = store.append(branch, null, [say('heron')]).catch(error => error)
    await store.close()
    expect(await appended).toMatchObject({
      code: expect.stringMatching(/^(unavailable|outcome_unknown)$/),
    })
  }, 60_000)

  it.each(['these', 'all'] as const)('leaves no backend that keeps its locks (%s)', async what => {
    const network = await storeThroughProxy(what === 'all' ? short : {})
    const { proxy, pool, direct, branch, store } = network
    let restore = () => {}
    const dead = withConnection(pool, 'unnamed', async link => {
      const id = branch.conversationId
      const select = prepare('SELECT FROM skein.conversations WHERE id = @id::uuid FOR UPDATE')
      await link.run([bind(prepare('BEGIN'), {}), bind(select, { id })])
      restore = proxy.swallow(what)
      await link.run([bind(prepare('COMMIT'), {})])
    })
    await expect(dead).rejects.toThrow('the server does not answer any more')
    restore()
    // With 'all', the backend is ended by the next connection.
    await onceReachable(() => store.countConversations())
    await direct.query("SET lock_timeout = '20s'")
    await direct.query('UPDATE skein.conversations SET title = $1', ['free'])
  })
})

describe('while a network swallows everything', () => {
  it('calls fail at once, and connections from before are not used again', async () => {
    const { proxy, store } = await storeThroughProxy(short)
    // Several connections, of which the outage ends one.
    await Promise.all(Array.from({ length: 5 }, () => store.listConversations()))
    const restore = proxy.swallow('all')
    const count = () => store.countConversations()
    const away = 'PostgreSQL cannot be reached: it does not answer'
    await expect(count()).rejects.toThrow('the server does not answer any more')
    // None of them waits for the network, which would be a turn of the event loop.
    let turns = 0
    setImmediate(() => turns++)
    for (let times = 0; times < 100; times++) await expect(count()).rejects.toThrow(away)
    expect(turns).toBe(0)
    restore()
    // A request on a dead connection would fail with other words.
    expect([...(await onceReachable(count))]).toEqual([away])
    await Promise.all(Array.from({ length: 5 }, count))
  })

  it('an attempt that began before the last connection says nothing', async () => {
    const pool = watchedPool(await freshDatabase())
    const store = await postgresStore(pool, { indexing: 'manual' })
    const began = performance.now()
    const clients = await Promise.all([pool.connect(), pool.connect()])
    for (const client of clients) client.release()
    expect(noteOutage(pool, began, new Error('timeout'))).toBe(false)
    expect(await store.countConversations()).toBe(0)
    expect(noteOutage(pool, performance.now(), new Error('timeout'))).toBe(true)
    await expect(store.countConversations()).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('a request that takes long', () => {
  it('is waited for while the server works on it', async () => {
    const network = await storeThroughProxy()
    const release = await lock(network)
    const appended = network.store.append(network.branch, null, [say('heron')])
    await untilAsked(network.proxy, 3)
    await release()
    expect((await appended).outcome).toBe('appended')
  })

  it('is waited for while the server answers others, but no new connection', async () => {
    const network = await storeThroughProxy({ probeMs: 500 })
    const { proxy, store, branch } = network
    const count = () => store.countConversations()
    await Promise.all(Array.from({ length: 5 }, count))
    const release = await lock(network)
    const restore = proxy.swallow('new')
    const appended = store.append(branch, null, [say('heron')])
    // No call fails: the server can be reached.
    for (const end = proxy.connections + 3; proxy.connections < end; ) expect(await count()).toBe(1)
    restore()
    await release()
    expect((await appended).outcome).toBe('appended')
  })

  it('is waited for while the server refuses to be asked', async () => {
    const network = await storeThroughProxy()
    const { url, proxy, store, branch } = network
    const release = await lock(network)
    const name = new URL(url).pathname.slice(1)
    const other = openPool(url.replace(`/${name}`, '/postgres'))
    await other.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
    const appended = store.append(branch, null, [say('heron')])
    await untilAsked(proxy, 3)
    await release()
    expect((await appended).outcome).toBe('appended')
    await other.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  })

  it('is waited for while a slow network transmits it', async () => {
    const { proxy, store, branch } = await storeThroughProxy()
    const slow = watchedPool(proxy.url, { bytesPerMs: 0.01 })
    const patient = await postgresStore(slow, { indexing: 'manual' })
    const other = await store.create()
    const held = Promise.withResolvers<void>()
    proxy.cut = sent => (sent.includes('heron') ? held.promise : null)
    const waits = patient.append(branch, null, [say(`heron ${'x'.repeat(1_000)}`)])
    // With the usual rate, a connection is dead after half of this time.
    for (let times = 0; times < 2; times++) {
      const lost = store.append(other.branch, null, [say('heron')])
      await expect(lost).rejects.toMatchObject({ code: 'outcome_unknown' })
    }
    held.resolve()
    expect((await waits).outcome).toBe('appended')
  })

  it.skipIf(pgbouncer === undefined)('is waited for behind a pooler', async () => {
    const url = await freshDatabase()
    const pooler = await startPgbouncer(url)
    onTestFinished(() => pooler[Symbol.asyncDispose]())
    const proxy = await startProxy(pooler.through(url))
    const pool = watchedPool(proxy.url)
    const store = await postgresStore(pool, { indexing: 'manual' })
    const { branch } = await store.create()
    const release = await lock({ url, proxy, pool, store, branch, direct: openPool(url) })
    const appended = store.append(branch, null, [say('heron')])
    await untilAsked(proxy, 3)
    await release()
    expect((await appended).outcome).toBe('appended')
    await pool.end()
  })
})
