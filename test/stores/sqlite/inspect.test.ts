import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import type { Finding } from '../../../src/core/finding.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openSqliteStore, sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { say } from '../../../src/testing/contract/build.ts'

/** SQLite's own check of a file of 6 MB, with a conversation whose row is missing. */

let folder: string
let file: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'inspect-'))
  file = join(folder, 'conversations.db')
  await using store = await openSqliteStore(file, { durability: 'normal' })
  const { branch } = await store.create()
  const large = Array.from({ length: 6 }, (_, i) => say(`${i}${'x'.repeat(1_000_000)}`))
  await store.append(branch, null, large)
  const db = new BetterSqlite3(file)
  db.pragma('foreign_keys = OFF')
  db.exec('UPDATE skein_messages SET conv = 99')
  db.close()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** The processes that this one starts, from here on. */
function watchProcesses(): unknown[] {
  const started: unknown[] = []
  const note = (message: unknown) => void started.push(message)
  subscribe('child_process', note)
  onTestFinished(() => void unsubscribe('child_process', note))
  return started
}

async function findingsOf(store: Store, options: { signal?: AbortSignal } = {}): Promise<string[]> {
  const found: Finding[] = []
  await store.verify({ ...options, onFinding: finding => found.push(finding) })
  return found.filter(({ conversation }) => conversation === null).map(({ what }) => what)
}

it('checks a large file in another process, with the findings of a check in this one', async () => {
  const started = watchProcesses()
  await using store = await openSqliteStore(file)
  const found = await findingsOf(store)
  expect(started).toHaveLength(1)
  expect(found).toContain(
    '6 rows of skein_messages that refer to skein_conversations refer to what is not there',
  )
  const db = new BetterSqlite3(file)
  expect(await findingsOf(await sqliteStore(db))).toEqual(found)
  db.close()
  // A borrowed handle may be in a transaction, whose changes no other handle sees.
  expect(started).toHaveLength(1)
})

it.each(['aborted', 'closed'] as const)('ends the other process when the check is %s', async how => {
  const store = await openSqliteStore(file)
  const controller = new AbortController()
  const { promise: begun, resolve } = Promise.withResolvers<ChildProcess>()
  const note = (message: unknown) => resolve((message as { process: ChildProcess }).process)
  subscribe('child_process', note)
  const verified = store.verify({ signal: controller.signal }).catch(error => error)
  // Frozen, so that only a kill ends it.
  const child = await begun
  unsubscribe('child_process', note)
  child.kill('SIGSTOP')
  const reason = new Error('enough')
  if (how === 'aborted') controller.abort(reason)
  await store.close()
  expect(await verified).toMatchObject(how === 'aborted' ? reason : { code: 'unavailable' })
})
