import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { collectPages } from '../../src/core/pages.ts'
import { createWorker, type DispatchEvent } from '../../src/dispatch/index.ts'
import { openStore } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { size } from '../battery/size.ts'
import { startOwnPostgres } from '../support/postgres.ts'

const awayMs = size({ gate: 4_000, full: 60_000 })
const tasks = 60

const server = await startOwnPostgres()
afterAll(() => server.stop())

it('workers wait while PostgreSQL is away, and every task ends once', { timeout: 300_000 }, async () => {
  await using store = await openStore(await server.createDatabase())
  for (let i = 0; i < tasks; i++) await store.submitTask({ id: `t${i}`, description: `Task ${i}` })
  const events: DispatchEvent[] = []
  const begun = Promise.withResolvers<void>()
  const model = scripted({ script: () => ({ text: 'Found the cause of it.', delayMs: 20 }) })
  const worker = createWorker({
    ...{ store, tasks: store, workers: 8, pollMs: 20, untilIdle: true },
    agentFor: () => ({ model }),
    onEvent: event => {
      events.push(event)
      if (events.filter(({ type }) => type === 'ended').length === 5) begun.resolve()
    },
  })
  await begun.promise
  await server.away()
  await pause(awayMs) // not a wait for an event: the time that the server is unavailable
  await server.back()
  await worker.ended
  expect(events.some(({ type }) => type === 'trouble')).toBe(true)
  expect(await store.countTasks()).toEqual({ queued: 0, running: 0, done: tasks, failed: 0, cancelled: 0 })
  for (let i = 0; i < tasks; i++) {
    const { items } = await store.listConversations({ task: `t${i}` })
    const turns = await collectPages(page => store.listTurns(items[0]!.id, page))
    expect([items.length, turns.map(({ key, status }) => [key, status])]).toEqual([
      1,
      [['dispatch:1', 'complete']],
    ])
  }
  expect((await store.verify()).findings).toMatchObject({ damage: 0, repairable: 0 })
})
