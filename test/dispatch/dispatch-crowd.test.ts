import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { collectPages } from '../../src/core/pages.ts'
import { openStore, type Store } from '../../src/index.ts'
import { size } from '../battery/size.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'

/** 16 workers in 4 processes, of which one dies now and then. */
const tasks = size({ gate: 120, full: 2_000 })
const processes = 4

const folder = mkdtempSync(join(tmpdir(), 'dispatch-crowd-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const engines = [
  { name: 'SQLite', target: async () => join(folder, 'conversations.db') },
  { name: 'PostgreSQL', target: async () => createDatabase(await postgresUrl()) },
]

async function start(target: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'crowd-child.ts'), [target], { execArgv: [] })
  await once(child, 'message')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

describe.each(engines)('a crowd of workers on $name', ({ target: targetOf }) => {
  it('ends every task exactly once, whichever of them die', { timeout: 600_000 }, async () => {
    const target = await targetOf()
    await using store = await openStore(target)
    for (let i = 0; i < tasks; i++)
      await store.submitTask({ id: `t${i}`, project: `p${i % 3}`, description: `Task ${i}` })
    const crowd = await Promise.all(Array.from({ length: processes }, () => start(target)))
    let kills = 0
    for (;;) {
      await pause(100 + Math.random() * 400)
      const { queued, running } = await store.countTasks()
      if (queued + running === 0) break
      const victim = Math.floor(Math.random() * processes)
      await kill(crowd[victim]!)
      kills++
      crowd[victim] = await start(target)
    }
    await Promise.all(crowd.map(kill))
    expect(kills).toBeGreaterThan(0)
    await expectEachOnce(store)
  })
})

/** A dispatch may fail after three deaths in a row. Every other task is done, with one turn. */
async function expectEachOnce(store: Store): Promise<void> {
  const all = await collectPages(page => store.listTasks({ limit: 1_000, ...page }))
  expect(all).toHaveLength(tasks)
  for (const task of all) {
    const dispatch = await store.getDispatch(task.id, 1)
    if (dispatch.status === 'failed') {
      expect(dispatch.error).toBe('the worker died 3 times in a row')
      continue
    }
    expect([task.id, dispatch.status, task.dispatches]).toEqual([task.id, 'done', 1])
    const { items } = await store.listConversations({ task: task.id })
    expect(items.map(({ project }) => project)).toEqual([task.project])
    const turns = await collectPages(page => store.listTurns(items[0]!.id, page))
    expect(turns.map(({ key, status }) => [key, status])).toEqual([['dispatch:1', 'complete']])
    const { items: users } = await store.listMessages({ conversationId: items[0]!.id, roles: ['user'] })
    expect(users).toHaveLength(1)
  }
  const { findings } = await store.verify()
  expect([findings.damage, findings.repairable]).toEqual([0, 0])
}
