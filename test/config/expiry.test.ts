import { expect, it } from 'vitest'
import { withExpiry } from '../../src/config/expiry.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

it('gives new conversations the expiry of their task or channel, unless the caller gives one', async () => {
  let reads = 0
  const opened = await openSqliteStore(':memory:')
  const store = withExpiry(opened, async () => {
    reads++
    return {
      conversation: { sessionExpirationMs: 1_000 },
      channels: { cli: { expirationMs: 2_000 }, acp: { expirationMs: null } },
    }
  })
  const ttlOf = async (made: Promise<{ conversation: { id: string } }>) =>
    (await store.getConversation((await made).conversation.id)).ttlMs
  expect(reads).toBe(0)
  expect(await ttlOf(store.create())).toBeNull()
  expect(await ttlOf(store.create({ channel: 'cli' }))).toBe(2_000)
  expect(await ttlOf(store.create({ channel: 'acp' }))).toBeNull()
  expect(await ttlOf(store.create({ channel: 'discord' }))).toBeNull()
  expect(await ttlOf(store.create({ channel: 'cli', task: 'T-1' }))).toBe(1_000)
  expect(await ttlOf(store.create({ channel: 'cli', ttlMs: 5 }))).toBe(5)
  expect(await ttlOf(store.create({ channel: 'cli', expiresAt: new Date(9_999_999_999_999) }))).toBeNull()
  expect(await ttlOf(store.findOrCreate('cli:x', { channel: 'cli' }))).toBe(2_000)
  expect(await ttlOf(store.findOrCreateByTask('T-2', { channel: 'cli' }))).toBe(1_000)
  // A conversation that exists keeps what it has.
  await opened.create({ channel: 'cli', key: 'cli:old' })
  expect(await ttlOf(store.findOrCreate('cli:old', { channel: 'cli' }))).toBeNull()
  expect(reads).toBe(1)
  await store.close()
})
