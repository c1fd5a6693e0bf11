import type { PoolClient } from 'pg'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { type PostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { holder, noMessage, say, startConversation } from '../../../src/testing/contract/build.ts'
import { freshDatabase, openPool } from './database.ts'

const pool = openPool(await freshDatabase())
let store: PostgresStore
beforeAll(async () => {
  store = await postgresStore(pool)
  await pool.query('CREATE TABLE orders (name text PRIMARY KEY)')
})
beforeEach(() => pool.query('DELETE FROM orders'))

const orders = async () =>
  (await pool.query('SELECT name FROM orders ORDER BY name')).rows.map(row => row.name)

/** A client in a transaction of the application that has ordered something, and the store inside it. */
async function begun(): Promise<{ readonly client: PoolClient; readonly inside: Store }> {
  const client = await pool.connect()
  onTestFinished(() => client.release())
  await client.query('BEGIN')
  await client.query(`INSERT INTO orders VALUES ('pizza')`)
  return { client, inside: store.within(client) }
}

const texts = async (id: string) => {
  const { head } = await store.getBranch({ conversationId: id as never, name: 'main' })
  return (await pathOf(store, head!)).map(textOf)
}

describe('a store within a transaction of the application', () => {
  it('stores nothing until the application commits, and everything then', async () => {
    const { branch, conversation, ids } = await startConversation(store)
    const { client, inside } = await begun()
    const turn = { key: 't', step: 0 }
    const first = await inside.append(branch, ids[2], [say('one pizza')], { turn })
    expect(first).toMatchObject({ outcome: 'appended', committed: false })
    await inside.updateConversation(conversation.id, { title: 'Order' })
    const made = await inside.create({ key: 'order:1' })
    expect((await inside.getConversation(conversation.id)).title).toBe('Order')
    expect((await store.getConversation(conversation.id)).messages).toBe(3)
    await client.query('COMMIT')
    expect(await orders()).toEqual(['pizza'])
    expect(await texts(conversation.id)).toHaveLength(4)
    expect((await store.findByKey('order:1'))?.conversation.id).toBe(made.conversation.id)
    // A retry outside finds what was committed.
    const again = await store.append(branch, ids[2], [say('one pizza')], { turn })
    expect(again).toMatchObject({ outcome: 'replayed', committed: true, head: first.head })
  })

  it('leaves nothing after a rollback of the application', async () => {
    const { branch, conversation, ids } = await startConversation(store)
    const before = await store.getConversation(conversation.id)
    const { client, inside } = await begun()
    await inside.append(branch, ids[2], [say('one pizza')], {
      turn: { key: 't', step: 0, status: 'open', holder: holder() },
    })
    await inside.putDraft(conversation.id, 't', holder(), [{ n: 0, type: 'text', text: 'yes' }])
    await inside.endTurn(conversation.id, 't', { status: 'complete', heldBy: holder() })
    await inside.createBranch(conversation.id, ids[0], { name: 'side' })
    await client.query('ROLLBACK')
    expect(await orders()).toEqual([])
    expect(await store.getConversation(conversation.id)).toEqual(before)
    expect(await store.findTurn(conversation.id, 't')).toBeNull()
  })

  it('undoes its own part after an error, and the transaction stays usable', async () => {
    const { branch, conversation, ids } = await startConversation(store)
    const { client, inside } = await begun()
    const errors = [
      ['conflict', () => inside.append(branch, noMessage, [say('late')])],
      ['not_found', () => inside.updateConversation(crypto.randomUUID() as never, { title: 'x' })],
      ['not_found', () => inside.renewTurn(conversation.id, 'none', holder())],
    ] as const
    await inside.create({ key: 'taken' })
    for (const [code, work] of errors) await expect(work()).rejects.toMatchObject({ code })
    await expect(inside.create({ key: 'taken' })).rejects.toMatchObject({ code: 'key_reused' })
    await inside.append(branch, ids[2], [say('one pizza')])
    await client.query(`INSERT INTO orders VALUES ('water')`)
    await client.query('COMMIT')
    expect(await orders()).toEqual(['pizza', 'water'])
    expect(await texts(conversation.id)).toHaveLength(4)
  })

  it('survives errors of the server and statements that it has lost', async () => {
    const { branch, conversation, ids } = await startConversation(store)
    const { client, inside } = await begun()
    // The server aborts the statement, and only the savepoint saves the transaction.
    await client.query('SET LOCAL statement_timeout = 50')
    const blocker = await pool.connect()
    onTestFinished(() => blocker.release())
    await blocker.query('BEGIN')
    await blocker.query('SELECT FROM skein.conversations WHERE id = $1 FOR UPDATE', [conversation.id])
    await expect(inside.append(branch, ids[2], [say('blocked')])).rejects.toMatchObject({
      code: 'unavailable',
    })
    const title = inside.updateConversation(conversation.id, { title: 'blocked' })
    await expect(title).rejects.toMatchObject({ code: 'unavailable' })
    await blocker.query('ROLLBACK')
    await client.query('SET LOCAL statement_timeout = 0')
    for (const text of ['a', 'b']) {
      await client.query('DEALLOCATE ALL')
      const { head } = await inside.getBranch(branch)
      await inside.append(branch, head, [say(text)])
      await client.query('DEALLOCATE ALL')
      await inside.updateConversation(conversation.id, { title: text })
    }
    await client.query('COMMIT')
    expect((await texts(conversation.id)).slice(-2)).toEqual(['a', 'b'])
    expect((await store.getConversation(conversation.id)).title).toBe('b')
  })

  it('runs parallel calls one after the other', async () => {
    const { client, inside } = await begun()
    const calls = Array.from({ length: 10 }, (_, i) =>
      inside.create({ key: `many:${i % 5}` }).then(
        () => 'created',
        error => error.code,
      ),
    )
    const results = await Promise.all(calls)
    await client.query('COMMIT')
    expect(results.toSorted()).toEqual([...Array(5).fill('created'), ...Array(5).fill('key_reused')])
    expect(await store.findByKey('many:4')).not.toBeNull()
  })

  it('refuses a client without a transaction, and one whose transaction has failed', async () => {
    const client = await pool.connect()
    onTestFinished(() => client.release())
    const inside = store.within(client)
    const { branch, ids } = await startConversation(store)
    const works = [() => inside.create(), () => inside.append(branch, ids[2], [say('x')])]
    for (const work of works)
      await expect(work()).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringMatching(/not in a transaction/),
      })
    await client.query('BEGIN')
    await client.query('SELECT 1/0').catch(() => undefined)
    for (const work of works)
      await expect(work()).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringMatching(/failed transaction/),
      })
    await client.query('ROLLBACK')
  })
})
