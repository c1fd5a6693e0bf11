import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEvents } from '../../src/client/read-events.ts'
import { tokenScopes } from '../../src/core/access-token.ts'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { note } from '../battery/note.ts'
import { size } from '../battery/size.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { addToken, startService, type TestService } from './harness.ts'
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

/** Operations that name no thing of a tenant. */
const ofNoThing = new Set(
  (
    'listConversations createConversation findOrCreateByKey search getStats exportAll importRecords ' +
    'submitTask listTasks deleteProject listAllApprovals'
  ).split(' '),
)

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
  it('keeps tenants apart in interleaved requests with the same conversation id (R19)', async () => {
    const id = '11111111-1111-4111-8111-111111111111'
    await Promise.all([a!.create({ id, title: 'A' }), b!.create({ id, title: 'B' })])
    const wrong: string[] = []
    const rounds = size({ gate: 20, full: 200 })
    for (let round = 0; round < rounds; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, n) => {
          const [token, title] = n % 2 === 0 ? [tokenA, 'A'] : [tokenB, 'B']
          const path = n % 4 < 2 ? `/conversations/${id}` : `/conversations?title=${title}`
          const { body } = await service.call(path, { token })
          const found = n % 4 < 2 ? body.title : body.items[0]?.title
          if (found !== title) wrong.push(`${title}: ${JSON.stringify(body).slice(0, 200)}`)
        }),
      )
    }
    expect(wrong).toEqual([])
    note('requests', rounds * 50)
    note('wrong', wrong.length)
  })
})
