import { strict as assert } from 'node:assert'
import type { NewAccessToken } from '../../core/access-token.ts'
import type { KeyReusedError, NotFoundError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
import { casesOf, rejects, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('tokens')

/** Stored only in this case: stores of several tenants may share their table. */
let made = 0
function hashOf(): string {
  return (++made).toString(16).padStart(8, '0').repeat(8)
}

function newToken(fields: Partial<NewAccessToken> = {}): NewAccessToken {
  return { hash: hashOf(), name: 'laptop', scopes: ['read'], ...fields }
}

export const tokenCases: readonly ContractCase[] = [
  it('finds a token by its hash, with everything but the hash', async ({ store, clock }) => {
    const expiresAt = new Date(clock.now + 60_000)
    const given = newToken({ name: 'größe 語', scopes: ['admin', 'read', 'ask', 'write', 'read'], expiresAt })
    const added = await store.addToken(given)
    assert.deepEqual(
      { ...added, id: '', tenant: '' },
      {
        id: '',
        name: 'größe 語',
        tenant: '',
        scopes: ['read', 'write', 'ask', 'admin'],
        createdAt: new Date(clock.now),
        expiresAt,
        revokedAt: null,
      },
    )
    assert.deepEqual(await store.findToken(given.hash), added)
    assert.equal(await store.findToken('f'.repeat(64)), null)
    assert.equal(JSON.stringify(added).includes(given.hash), false)
  }),
  it('lists tokens oldest first, page by page', async ({ store, clock }) => {
    const names = ['one', 'two', 'three', 'four', 'five']
    for (const name of names) {
      await store.addToken(newToken({ name }))
      // The last two are of the same time: their ids decide.
      if (name !== 'four') clock.now += 1_000
    }
    const listed = await collectPages(page => store.listTokens({ ...page, limit: 2 }))
    assert.deepEqual(listed.map(token => token.name).slice(0, 3), names.slice(0, 3))
    assert.deepEqual(listed.map(token => token.name).sort(), [...names].sort())
    assert.deepEqual(listed, (await store.listTokens()).items)
    await rejects(store.listTokens({ limit: 0 }), 'invalid')
    await rejects(store.listTokens({ after: 'x' }), 'invalid')
  }),
  it('revokes a token once and keeps it in the list', async ({ store, clock }) => {
    const given = newToken()
    const { id } = await store.addToken(given)
    const other = await store.addToken(newToken())
    clock.now += 1_000
    const revoked = await store.revokeToken(id)
    assert.deepEqual(revoked.revokedAt, new Date(clock.now))
    clock.now += 1_000
    assert.deepEqual(await store.revokeToken(id), revoked)
    assert.deepEqual(await store.findToken(given.hash), revoked)
    assert.deepEqual((await store.listTokens()).items.map(token => token.revokedAt !== null).sort(), [
      false,
      true,
    ])
    assert.equal((await store.revokeToken(other.id)).id, other.id)
    const error = await rejects<NotFoundError>(store.revokeToken('no such token'), 'not_found')
    assert.equal(error.kind, 'token')
  }),
  it('refuses a hash that is stored already, and changes nothing', async ({ store }) => {
    const given = newToken()
    const added = await store.addToken(given)
    const error = await rejects<KeyReusedError>(
      store.addToken({ ...given, name: 'another', scopes: ['admin'] }),
      'key_reused',
    )
    assert.equal(error.message.includes(given.hash), false)
    assert.deepEqual(await store.findToken(given.hash), added)
    assert.equal((await store.listTokens()).items.length, 1)
  }),
  it('refuses a token that is not complete', async ({ store }) => {
    const bad: Record<string, Partial<Record<keyof NewAccessToken, unknown>>> = {
      hash: { hash: 'A'.repeat(64) },
      name: { name: '' },
      scopes: { scopes: [] },
      'scopes[1]': { scopes: ['read', 'root'] },
      expiresAt: { expiresAt: new Date(Number.NaN) },
    }
    for (const [field, fields] of Object.entries(bad)) {
      const error = await rejects(store.addToken({ ...newToken(), ...fields } as NewAccessToken), 'invalid')
      assert.ok(error.message.startsWith(field), error.message)
    }
    await rejects(store.findToken('short'), 'invalid')
    assert.deepEqual((await store.listTokens()).items, [])
  }),
  it('keeps tokens apart from conversations: no record and no count has them', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const before = await store.measure(new Date(0))
    const given = newToken({ name: 'swordfish' })
    const token = await store.addToken(given)
    const records: unknown[] = []
    for await (const record of store.readRecords(conversation.id)) records.push(record)
    const text = JSON.stringify(records)
    for (const word of ['swordfish', given.hash, token.id]) assert.equal(text.includes(word), false)
    const { sizes: _, ...counts } = await store.measure(new Date(0))
    const { sizes: __, ...countsBefore } = before
    assert.deepEqual(counts, countsBefore)
    await store.trash(conversation.id)
    await store.purge(conversation.id)
    assert.deepEqual(await store.findToken(given.hash), token)
  }),
  it(
    'shows a token and its revocation to other processes',
    async ({ store, second }) => {
      const other = await second()
      const given = newToken()
      const { id } = await store.addToken(given)
      assert.equal((await other.findToken(given.hash))?.id, id)
      await other.revokeToken(id)
      assert.notEqual((await store.findToken(given.hash))?.revokedAt, null)
    },
    'second handle',
  ),
]
