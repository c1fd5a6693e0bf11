import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { dataFolder } from '../../../src/cli/store/store-location.ts'
import { behindProxy, openStage } from '../agents/harness.ts'
import { storeOf } from './stored.ts'

/** An agent that answers with 1,500 pieces, one every millisecond. */
const agent = [process.execPath, join(import.meta.dirname, '../../../bench/acp-agent.ts'), '1500', '1']

it('relays an answer while another process locks the store, and stores it afterwards', async () => {
  await using stage = await openStage()
  const editor = await stage.start(behindProxy(agent))
  const id = await editor.newSession()
  const turn = editor.prompt(id, 'go')
  const arrived = (count: number) => editor.until(() => editor.lines.length >= count)
  await arrived(300)
  const locking = new BetterSqlite3(join(dataFolder(stage.env), 'conversations.db'))
  locking.exec('BEGIN IMMEDIATE')
  // The lock is released only after these: a relay that waits for the store would never send them.
  await arrived(1_200)
  locking.exec('COMMIT')
  locking.close()
  await turn
  await editor.end()
  await using store = await storeOf(stage)
  const { items } = await store.listConversations()
  const { messages } = await store.tail(items[0]!.branch.head!, { messages: 10 })
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
})
