import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { collectPages } from '../../src/core/pages.ts'
import { takeIn } from '../../src/core/take-in.ts'
import { createDispatcher } from '../../src/dispatch/index.ts'
import { decodeNative, encodeNative } from '../../src/formats/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dispatch-moving-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A task that ran twice, one that is queued, and one that failed. */
async function fill(store: Store): Promise<void> {
  const dispatcher = createDispatcher({ store, tasks: store, agentFor: () => ({ model: scripted() }) })
  await store.submitTask({ project: 'web', description: 'My name is Ada.', metadata: { a: 1 } })
  await dispatcher.run('T-1')
  await dispatcher.run('T-1', 'What is my name?')
  await store.submitTask({ description: 'Later', context: 'soon' })
  await store.submitTask({ id: 'bad', description: '/fail hard' })
  await dispatcher.run('bad')
}

/** All tasks and dispatches. */
async function tasksOf(store: Store) {
  const tasks = await collectPages(page => store.listTasks(page))
  return Promise.all(
    tasks
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map(async task => [task, await collectPages(page => store.listDispatches(task.id, page))]),
  )
}

async function linesOf(store: Store): Promise<string[]> {
  const { items } = await store.listConversations({ limit: 1_000 })
  const lines: string[] = []
  const ids = items.map(({ id }) => id)
  const options = { writtenAt: new Date(0), tasks: store.readTaskRecords() }
  for await (const line of encodeNative(store, ids, options)) lines.push(line)
  return lines
}

describe('tasks in the native format', () => {
  it('move from SQLite to PostgreSQL and back without loss, and continue there', async () => {
    await using from = await openStore(join(folder, 'from.db'))
    await fill(from)
    await using to = await openStore(await createDatabase(await postgresUrl()))
    const { added, refused } = await takeIn(to, decodeNative(await linesOf(from)))
    expect([added.task, refused]).toEqual([3, {}])
    expect(await tasksOf(to)).toEqual(await tasksOf(from))
    expect((await takeIn(to, decodeNative(await linesOf(from)))).present.task).toBe(3)
    const dispatcher = createDispatcher({ store: to, tasks: to, agentFor: () => ({ model: scripted() }) })
    expect((await dispatcher.run('T-1', 'What is my name?'))?.response).toBe('Your name is Ada.')
    expect((await to.submitTask({ description: 'next' })).id).toBe('T-3')
    await using back = await openStore(':memory:')
    await takeIn(back, decodeNative(await linesOf(to)))
    expect(await tasksOf(back)).toEqual(await tasksOf(to))
    expect((await back.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
  })
})

describe('verify', () => {
  it.each([
    ['DELETE FROM skein_dispatches WHERE n = 2', /task "T-1" has 1 of its 2 dispatches/],
    ["UPDATE skein_tasks SET status = 'running' WHERE id = 'T-1'", /task "T-1" is running, and 0 of its/],
    [
      "UPDATE skein_dispatches SET status = 'waiting' WHERE n = 1 AND task = 'T-1'",
      /1 of its dispatches wait/,
    ],
    ["UPDATE skein_tasks SET current = 9 WHERE id = 'T-1'", /names a dispatch 9 that is not there/],
    ["DELETE FROM skein_tasks WHERE id = 'T-1'", /2 dispatches belong to a task that is not there \("T-1"\)/],
  ])('finds damaged tasks after: %s', async (sql, expected) => {
    const file = join(folder, 'tasks.db')
    const first = await openStore(file)
    await fill(first)
    await first.close()
    const db = new BetterSqlite3(file)
    db.exec(sql)
    db.close()
    await using store = await openStore(file)
    const found: string[] = []
    await store.verify({ onFinding: ({ what }) => found.push(what) })
    expect(found.join('\n')).toMatch(expected)
  })
})
