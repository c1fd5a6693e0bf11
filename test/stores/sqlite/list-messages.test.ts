import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import type { ListMessages } from '../../../src/core/listing.ts'
import type { Engine } from '../../../src/stores/engine/engine.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { systemSource } from '../../../src/system/source.ts'
import { say } from '../../../src/testing/contract/build.ts'

it('lists filtered messages in pieces as in one statement', async () => {
  const db = new BetterSqlite3(':memory:')
  onTestFinished(() => void db.close())
  await migrateFile(db)
  const engine = sqliteEngine(db, { source: systemSource, owned: true })
  let reads = 0
  const read: Engine['read'] = program => {
    reads++
    return engine.read(program)
  }
  const whole = storeOver({ ...engine, rowsPerStatement: null }, async () => 1)
  const pieces = storeOver({ ...engine, read, rowsPerStatement: 7 }, async () => 1)
  const { branch } = await whole.create()
  let head: MessageId | null = null
  for (let i = 0; i < 60; i++) {
    const role = i % 9 === 0 ? 'system' : i % 2 === 0 ? 'user' : 'assistant'
    head = (await whole.append(branch, head, [say(`message ${i}`, role)])).head
    if (i % 20 === 5) await whole.setLabel(head, 'kept')
  }
  const filters = [
    { roles: ['system'] },
    { roles: ['user', 'assistant'] },
    { label: 'kept' },
    { label: 'none' },
  ] as const
  for (const filter of filters) {
    for (const order of ['ascending', 'descending'] as const) {
      for (const limit of [1, 3, 7, 100]) {
        for (const offset of [0, 2]) {
          const base: ListMessages = {
            conversationId: branch.conversationId,
            order,
            limit,
            offset,
            ...filter,
          }
          let after: string | null = null
          do {
            const options: ListMessages = after === null ? base : { ...base, after, offset: 0 }
            const page = await pieces.listMessages(options)
            expect(page).toEqual(await whole.listMessages(options))
            after = page.next
          } while (after !== null)
        }
      }
    }
  }
  reads = 0
  await pieces.listMessages({ conversationId: branch.conversationId, roles: ['tool_result'] })
  expect(reads).toBe(Math.ceil(60 / 7))
})
