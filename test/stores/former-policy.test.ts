import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { freshDatabase, openPool } from './postgres/database.ts'

const former = (table: string) => `update ${table} set prompt_policy = 'message'`

/** Reads a conversation after its row was changed to what version 0.1 could have written. */
async function policyAfter(target: string, change: () => unknown): Promise<string> {
  await using store = await openStore(target)
  const { conversation } = await store.create({ prompt: 'Be brief.', promptPolicy: 'stored' })
  await change()
  await using another = await openStore(target)
  return (await another.getConversation(conversation.id)).promptPolicy
}

it('reads the former prompt policy `message` of a SQLite file as `stored`', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'policy-'))
  const file = join(folder, 'store.db')
  const change = () => {
    const db = new BetterSqlite3(file)
    db.exec(former('skein_conversations'))
    db.close()
  }
  expect(await policyAfter(file, change)).toBe('stored')
  rmSync(folder, { recursive: true })
})

it('reads the former prompt policy `message` of a PostgreSQL database as `stored`', async () => {
  const url = await freshDatabase()
  expect(await policyAfter(url, () => openPool(url).query(former('skein.conversations')))).toBe('stored')
})
