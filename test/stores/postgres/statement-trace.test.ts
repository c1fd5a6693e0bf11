import { channel } from 'node:diagnostics_channel'
import { expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../../src/stores/open.ts'
import type { StatementTrace } from '../../../src/system/debug.ts'
import { freshDatabase } from './database.ts'

it('publishes the names of the statements of each round trip, and no stored text', async () => {
  await using store = await openStore(await freshDatabase())
  const { conversation, branch } = await store.create()
  const heard: StatementTrace[] = []
  const listener = (message: unknown) => void heard.push(message as StatementTrace)
  channel('skein:statement').subscribe(listener)
  onTestFinished(() => void channel('skein:statement').unsubscribe(listener))
  await store.append(branch, null, [{ role: 'user', content: 'a secret question' }])
  await store.getConversation(conversation.id)
  expect(heard.map(({ engine, statements }) => [engine, ...statements])).toEqual([
    ['postgres', 'appendOutsideTurns'],
    ['postgres', 'conversationById'],
  ])
  expect(JSON.stringify(heard)).not.toContain('secret')
})
