import type { Connection, Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEvents, type StreamEvent } from '../../src/client/read-events.ts'
import { tokenScopes } from '../../src/core/access-token.ts'
import type { Store } from '../../src/core/ports.ts'
import { createService } from '../../src/server/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { note } from '../battery/note.ts'
import { size } from '../battery/size.ts'
import { openPool } from '../stores/postgres/database.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { addToken, startService, type TestService } from './harness.ts'
import { interleave, type MarkedTenant, markTenant, ofNoThing } from './interleaved.ts'
import { operations } from './operations.ts'
import { stock } from './stocked.ts'

// PostgreSQL as a plain role: the tenant condition of every statement keeps tenants apart.
let service: TestService
let [a, b]: Store[] = []
let [tokenA, tokenB] = ['', '']
beforeAll(async () => {
  const db = await createDatabase(await postgresUrl())
  service = await startService({ db })
  a = await openStore(db, { tenant: 'a' })
  b = await openStore(db, { tenant: 'b' })
  tokenA = await addToken(a!, tokenScopes)
  tokenB = await addToken(b!, tokenScopes)
}, 60_000)
afterAll(async () => {
  await a?.close()
  await b?.close()
  await service?.close()
})

/** The problem without what differs between any two requests. */
function problem(body: Record<string, unknown>) {
  const { request_id: _, ...rest } = body
  return JSON.stringify(rest)
}

describe('tenants (R19)', () => {
  it('answers tenant B with the ids of A as if they did not exist', async () => {
    const things = await stock(a!)
    const never = {
      ...things,
      conversation: '00000000-0000-4000-8000-000000000000',
      spare: '00000000-0000-4000-8000-000000000000',
      message: 'a'.repeat(32),
      leaf: 'a'.repeat(32),
      blob: '0'.repeat(64),
      task: 'never',
      work: 'never',
      waiting: '00000000-0000-4000-8000-000000000000',
      approval: 'never',
    }
    const withoutIds = (text: string, ids: typeof things) =>
      Object.values(ids)
        .flatMap(id => [id, id.slice(0, 12)])
        .reduce((rest, id) => rest.replaceAll(id, '·'), text)
    const before = (await service.call(`/conversations/${things.conversation}`, { token: tokenA })).body
    const byScope = new Map(
      await Promise.all(tokenScopes.map(async one => [one, await addToken(b!, [one])] as const)),
    )
    for (const [id, { scope, request }] of Object.entries(operations)) {
      if (ofNoThing.has(id)) continue
      const { path, ...sent } = request(things)
      for (const [other, token] of byScope)
        expect([id, other, (await service.call(path, { ...sent, token })).status]).toEqual([
          id,
          other,
          other === scope ? 404 : 403,
        ])
      const theirs = await service.call(path, { ...sent, token: tokenB })
      expect([id, theirs.status]).toEqual([id, 404])
      const { path: unknown, ...same } = request(never)
      const none = await service.call(unknown, { ...same, token: tokenB })
      expect(withoutIds(problem(theirs.body), things)).toBe(withoutIds(problem(none.body), never))
    }
    const after = (await service.call(`/conversations/${things.conversation}`, { token: tokenA })).body
    expect(after).toEqual(before)
  })
  it('lists, searches, counts and exports only the own tenant', async () => {
    const mark = 'xylophone'
    await stock(a!, 'other-task')
    const { branch, conversation } = await a!.create({ title: mark, task: mark, tags: [mark] })
    await a!.append(branch, null, [{ role: 'user', content: mark }])
    const trashed = (await a!.create({ title: mark })).conversation
    await a!.trash(trashed.id)
    const lists = ['', '?trashed=true', `?title=${mark}`, `?task=${mark}`, `?tag=${mark}`, '?limit=1000']
    const paths = [...lists.map(query => `/conversations${query}`), `/search?q=${mark}`, '/export']
    for (const path of paths) {
      const { status, text } = await service.call(path, { token: tokenB })
      // A row that is only reported as skipped would reveal its id.
      const found = [mark, conversation.id, trashed.id].filter(one => text.includes(one))
      expect([path, status, found]).toEqual([path, 200, []])
      expect((await service.call(path, { token: tokenA })).text).toMatch(new RegExp(`${mark}|${trashed.id}`))
    }
    const activity = await service.fetch(`/follow?after=@${Date.now() - 60_000}`, { token: tokenB })
    await b!.create({ title: 'own' })
    let seen = ''
    for await (const { data } of readEvents(activity.body!)) {
      seen += data
      if (data.includes('"own"')) break
    }
    expect([conversation.id, mark].filter(one => seen.includes(one))).toEqual([])
    expect((await service.call('/stats', { token: tokenB })).body.all.conversations).toBe(1)
  })
  it('never sends events of a conversation of another tenant', async () => {
    const { conversation } = await a!.create({ title: 'Followed' })
    const path = `/follow?conversation=${conversation.id}`
    const own = await service.fetch(path, { token: tokenA })
    const last = (await firstEvent(own)).id
    const refused = await service.call(path, { token: tokenB })
    expect([refused.status, refused.body.code]).toEqual([404, 'not_found'])
    // With the id of an event of A, it is as gone as a conversation that was purged.
    await a!.append({ conversationId: conversation.id, name: 'main' }, null, [
      { role: 'user', content: 'hidden' },
    ])
    const resumed = await service.fetch(path, { token: tokenB, headers: { 'last-event-id': last } })
    const never = last.replace(conversation.id, '00000000-0000-4000-8000-000000000000')
    const unknown = await service.fetch('/follow?conversation=00000000-0000-4000-8000-000000000000', {
      token: tokenB,
      headers: { 'last-event-id': never },
    })
    const withoutId = (text: string) => text.replaceAll(/[0-9a-f-]{36}/g, '·')
    // Before it, B may be told of what it has just created itself.
    const [seen, expected] = [await firstEvent(resumed, 'gone'), await firstEvent(unknown, 'gone')]
    expect(withoutId(seen.data)).toBe(withoutId(expected.data))
    const others = seen.before.filter(({ data }) => data.includes(conversation.id))
    expect(others).toEqual([])
  })
  it('keeps tenants apart in interleaved reads, writes and streams (R19)', { timeout: 300_000 }, async () => {
    const db = await createDatabase(await postgresUrl())
    await using both = await startService({ db })
    const tenants = await markedTenants(db)
    const rounds = size({ gate: 10, full: 200 })
    const { requests, wrong, told } = await interleave(both.fetch, tenants, { rounds })
    expect(wrong).toEqual([])
    // The requests return what must not be seen by the other tenant.
    expect(
      ['getConversation', 'listMessages', 'search', 'exportAll', 'follow'].filter(one => !told.has(one)),
    ).toEqual([])
    note('requests', requests)
    note('wrong', wrong.length)
  })
  it('would show a message of another tenant without the condition in the statements (negative control)', {
    timeout: 60_000,
  }, async () => {
    const db = await createDatabase(await postgresUrl())
    const tenants = await markedTenants(db)
    const pool = withoutCondition(openPool(db))
    const stores = new Map<string, Promise<Store>>()
    const storeOf = (tenant: string) => {
      const known = stores.get(tenant) ?? postgresStore(pool, { tenant, indexing: 'manual' })
      stores.set(tenant, known)
      return known
    }
    const open = createService({ storeOf, tokens: await storeOf('default') })
    const [alice, bob] = tenants
    const { path } = operations.getMessage!.request(alice.things)
    const headers = { authorization: `Bearer ${bob.token}` }
    const response = await open.fetch(new Request(`http://localhost/api/v1${path}`, { headers }))
    expect([response.status, (await response.text()).includes('hello there')]).toEqual([200, true])
    await open.close()
    for (const store of stores.values()) await (await store).close()
  })
})

/** Two tenants with marked contents. Their stores are closed again. */
async function markedTenants(db: string): Promise<readonly [MarkedTenant, MarkedTenant]> {
  const mark = async (tenant: string) => {
    await using store = await openStore(db, { tenant })
    return await markTenant(store, `mark-of-${tenant}`, await addToken(store, tokenScopes))
  }
  return [await mark('alice'), await mark('bob')]
}

/** A pool whose statements compare no tenant. */
function withoutCondition(pool: Pool): Pool {
  pool.on('connect', client => {
    const { connection } = client as unknown as { connection: Pick<Connection, 'parse'> }
    const parse = connection.parse.bind(connection)
    connection.parse = ({ text, ...query }, more) =>
      parse(
        { ...query, text: text.replaceAll(/(?:\w+\.)?tenant = (\$\d+::text)/g, '($1 IS NOT NULL)') },
        more,
      )
  })
  return pool
}

/** The first event of a stream, or the first with this name, and those before it. Closes the stream. */
async function firstEvent(
  response: Response,
  name?: string,
): Promise<StreamEvent & { readonly before: readonly StreamEvent[] }> {
  const before: StreamEvent[] = []
  for await (const event of readEvents(response.body!)) {
    if (name === undefined || event.event === name) return { ...event, before }
    before.push(event)
  }
  throw new Error(`the stream ended without ${name ?? 'an event'}`)
}
