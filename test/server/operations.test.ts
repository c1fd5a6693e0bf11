import { describe, expect, it } from 'vitest'
import { tokenScopes } from '../../src/core/access-token.ts'
import { allRoutes } from '../../src/server/routes/index.ts'
import type { RouteContext } from '../../src/server/routes/route-context.ts'
import { startService } from './harness.ts'
import { operations } from './operations.ts'
import { stock } from './stocked.ts'

const routes = allRoutes({} as RouteContext)

function operationIds(document: Record<string, unknown>): readonly string[] {
  const paths = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>)
  return paths.flatMap(path => Object.values(path).map(({ operationId }) => operationId)).sort()
}

describe('every operation of the OpenAPI document', () => {
  it('is in the table of requests', async () => {
    await using service = await startService()
    const { body } = await service.call('/openapi.json')
    expect(body.openapi).toBe('3.1.0')
    expect(operationIds(body).filter(id => id !== 'follow')).toEqual(Object.keys(operations).sort())
  })
  it('answers with its scope, as its schema says, and to no other scope', async () => {
    await using service = await startService()
    const things = await stock(service.store)
    const tokens = new Map(
      await Promise.all(tokenScopes.map(async scope => [scope, await service.tokenFor(scope)] as const)),
    )
    for (const [id, { scope, status, request }] of Object.entries(operations)) {
      const { path, ...sent } = request(things)
      expect((await service.call(path, { ...sent, token: null })).status, id).toBe(401)
      for (const other of tokenScopes.filter(one => one !== scope)) {
        const refused = await service.call(path, { ...sent, token: tokens.get(other)! })
        expect([id, other, refused.status, refused.body.scope]).toEqual([id, other, 403, scope])
      }
      const answer = await service.call(path, { ...sent, token: tokens.get(scope)! })
      expect([id, answer.status, answer.status === status ? '' : answer.text]).toEqual([id, status, ''])
      const { schema } = routes.find(({ operation }) => operation === id)!.responses[status]!
      if (schema) expect([id, schema.safeParse(answer.body).error?.issues]).toEqual([id, undefined])
    }
  })
  it('answers unknown ids with 404 and invalid ones with 400', async () => {
    await using service = await startService()
    const nothing = {
      conversation: '00000000-0000-4000-8000-000000000000',
      spare: '00000000-0000-4000-8000-000000000000',
      message: 'a'.repeat(32),
      leaf: 'a'.repeat(32),
      task: 'none',
      blob: '0'.repeat(64),
      turn: 'none',
      work: 'none',
      waiting: '00000000-0000-4000-8000-000000000000',
      approval: 'none',
    }
    const invalid = {
      ...nothing,
      conversation: 'x',
      spare: 'x',
      message: 'x',
      leaf: 'x',
      blob: 'x',
      work: '\0',
      waiting: 'x',
    }
    for (const [id, { request }] of Object.entries(operations)) {
      const { path, ...sent } = request(nothing)
      if (path === request(invalid).path) continue
      const unknown = await service.call(path, sent)
      expect([id, unknown.status, unknown.body.code]).toEqual([id, 404, 'not_found'])
      const { path: bad, ...same } = request(invalid)
      if (id === 'resolve') continue
      const refused = await service.call(bad, same)
      expect([id, refused.status, refused.body.code]).toEqual([id, 400, 'invalid'])
    }
  })
})
