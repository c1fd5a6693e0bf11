import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeSlowSyncs } from '../../support/slow-syncs.ts'
import { behindProxy, openStage } from '../agents/harness.ts'
import { storeOf } from './stored.ts'

/** An agent that answers with 600 pieces, one every millisecond, and calls a tool after each 50. */
const agent = [
  ...[process.execPath, join(import.meta.dirname, '../../../bench/acp-agent.ts')],
  ...['600', '1', '0', '50'],
]

it('relays an answer while the disk does not end a sync, and stores it afterwards', async context => {
  await using stage = await openStage()
  const slow = makeSlowSyncs(stage.cwd)
  if (!slow) return context.skip('needs Linux and a C compiler')
  const gate = join(stage.cwd, 'gate')
  const editor = await stage.start(behindProxy(agent), { env: { ...slow, SLOW_SYNC_GATE: gate } })
  const id = await editor.newSession()
  const turn = editor.prompt(id, 'go')
  const arrived = (count: number) => editor.until(() => editor.lines.length >= count)
  await arrived(50)
  writeFileSync(gate, '')
  // The disk works again only after these, and nine calls are to be stored meanwhile.
  await arrived(500)
  rmSync(gate)
  await turn
  await editor.end()
  await using store = await storeOf(stage)
  const { items } = await store.listConversations()
  const { messages } = await store.tail(items[0]!.branch.head!, { messages: 100 })
  const calls = Array.from({ length: 12 }, () => ['assistant', 'tool_result']).flat()
  expect(messages.map(({ role }) => role)).toEqual(['user', ...calls, 'assistant'])
})
