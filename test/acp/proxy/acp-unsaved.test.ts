import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { size } from '../../battery/size.ts'
import { lockFile } from '../../support/lock-file.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { storeOf } from './stored.ts'

// R4: see test/battery/unsaved.test.ts.
const awayMs = size({ gate: 0, full: 75_000 })
vi.setConfig({ testTimeout: 120_000 + awayMs })

it('skein acp keeps what was said while the store was locked, and the agent keeps its memory', async () => {
  await using stage = await openStage()
  const editor = await stage.start(behindProxy(agentCommand('good')))
  const id = await editor.newSession()
  await editor.prompt(id, marker('first'))
  await using store = await storeOf(stage)
  const [conversation] = (await store.listConversations()).items
  using lock = await lockFile(`${stage.env.XDG_DATA_HOME}/skein/conversations.db`)
  await editor.prompt(id, marker('second'))
  await editor.prompt(id, marker('third'))
  await sleep(awayMs)
  await lock.release()
  await editor.prompt(id, marker('fourth'))
  const all = ['first', 'second', 'third', 'fourth'].map(marker)
  for (const text of [...all, answerMarker(1), answerMarker(2), answerMarker(3)])
    expect(timesGiven(stage.model.last, text)).toBe(1)
  const { activeBranch } = await store.getConversation(conversation!.id)
  const { head } = await store.getBranch({ conversationId: conversation!.id, name: activeBranch })
  const path = (await pathOf(store, head!)).map(textOf)
  expect(path.filter((_, i) => i % 2 === 0)).toEqual(all)
  expect(path).toHaveLength(8)
  expect(await collectPages(page => store.listBranches(conversation!.id, page))).toHaveLength(1)
})
