import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { storeOf } from './stored.ts'

const [first, second, third] = ['first', 'second', 'third'].map(marker) as [string, string, string]

it('updates that an agent sends late or twice are relayed unchanged, stored once, and known once', async () => {
  await using stage = await openStage()
  const command = behindProxy([process.execPath, join(import.meta.dirname, 'late-agent.ts')])
  const before = await stage.start(command)
  const id = await before.newSession()
  await before.prompt(id, first)
  await before.untilShown(id, 'LATE-1.')
  await before.prompt(id, second)
  await before.untilShown(id, 'LATE-3.')
  await using store = await storeOf(stage)
  const path = await vi.waitUntil(async () => {
    const { items } = await store.listConversations()
    const messages = await pathOf(store, items[0]!.branch.head!)
    return messages.some(message => textOf(message).includes('LATE-3.')) && messages
  })
  const notices = () =>
    collectPages(page => store.listEvents(path[0]!.conversationId, { ...page, types: ['agent_update'] }))
  await vi.waitUntil(async () => (await notices()).length === 2, { timeout: 10_000, interval: 20 })
  expect((await notices()).map(({ data }) => data)).toMatchObject([
    { update: 'notice', message: 'between 2' },
    { update: 'notice', message: 'between 4' },
  ])
  await before.kill9()
  const [turn] = await collectPages(page => store.listTurns(path[0]!.conversationId, page))
  expect(turn?.usage).toEqual({ input: 10, output: 5, reasoning: 2 })
  expect(path.filter(({ role }) => role === 'tool_result')).toHaveLength(2)

  const after = await stage.start(command)
  await after.load(id)
  const texts = [first, second, answerMarker(1), answerMarker(2), 'LATE-1.', 'LATE-3.']
  expect(texts.map(text => after.thread(id).times(text))).toEqual(texts.map(() => 1))
  expect(after.thread(id).messages.filter(({ role }) => role === 'tool')).toHaveLength(2)
  await after.prompt(id, third)
  expect(texts.map(text => timesGiven(stage.model.last, text))).toEqual(texts.map(() => 1))
})
