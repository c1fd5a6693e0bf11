import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { findSession, sessionIdOf } from '../../../src/acp/sessions/session-id.ts'
import { openStore } from '../../../src/stores/open.ts'

describe('a session id', () => {
  it('is the id of a conversation, at its active branch', async () => {
    await using store = await openStore(':memory:')
    const place = await store.create()
    expect(sessionIdOf(place)).toBe(place.conversation.id)
    expect(await findSession(store, place.conversation.id)).toEqual(place)
    const other = await store.createBranch(place.conversation.id, null, { name: 'other' })
    await store.activateBranch(other)
    const found = await findSession(store, place.conversation.id)
    expect(found?.branch.name).toBe('other')
    expect(sessionIdOf(found!)).toBe(place.conversation.id)
  })

  it('is the key of a branch before it is the id of a conversation', async () => {
    await using store = await openStore(':memory:')
    const { conversation } = await store.create()
    const foreign = await store.create()
    const key = `acp:${foreign.conversation.id}`
    await store.createBranch(conversation.id, null, { name: 'fork', key })
    const found = await findSession(store, foreign.conversation.id)
    expect(found?.branch).toMatchObject({ conversationId: conversation.id, name: 'fork' })
    expect(sessionIdOf(found!)).toBe(foreign.conversation.id)
  })

  it('stays on its branch when another session of the conversation becomes the active branch', async () => {
    await using store = await openStore(':memory:')
    const { conversation } = await store.create()
    const fork = await store.createBranch(conversation.id, null, { name: 'fork', key: 'acp:20261115_1' })
    await store.activateBranch(fork)
    expect((await findSession(store, conversation.id))?.branch.name).toBe('main')
    expect((await findSession(store, '20261115_1'))?.branch.name).toBe('fork')
  })

  it('finds a conversation whose only branch has its own id, by both ids', async () => {
    await using store = await openStore(':memory:')
    const { conversation } = await store.create({ key: 'acp:agents-own' })
    const [one, other] = [await findSession(store, 'agents-own'), await findSession(store, conversation.id)]
    expect(one).toEqual(other)
    expect(sessionIdOf(other!)).toBe('agents-own')
  })

  it('finds nothing if the conversation is in the trash or does not exist', async () => {
    await using store = await openStore(':memory:')
    const { conversation } = await store.create({ key: 'acp:mine' })
    await store.trash(conversation.id)
    const lookups = ['mine', conversation.id, randomUUID(), '', 'no-such', 'a\0b', 'x'.repeat(10_000)]
    for (const id of lookups) expect(await findSession(store, id)).toBeNull()
  })

  it('finds a conversation that has expired', async () => {
    await using store = await openStore(':memory:')
    const { conversation } = await store.create({ key: 'acp:old', expiresAt: new Date(1) })
    expect((await findSession(store, 'old'))?.conversation.id).toBe(conversation.id)
  })
})
