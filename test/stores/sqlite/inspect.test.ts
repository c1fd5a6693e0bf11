import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
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

/** Above 128 MB of memory a thread starts the other process. */
const ways = [
  ['this thread', 100e6],
  ['another thread', 200e6],
] as const

/** Has the store start a program instead of Node, as a process of this much memory does. Returns the ids of
 *  its processes. */
function startInstead(memory: number, program: string): () => readonly number[] {
  vi.spyOn(process.memoryUsage, 'rss').mockReturnValue(memory)
  const { execPath } = process
  const [path, started] = [join(folder, 'node'), join(folder, 'started')]
  writeFileSync(path, `#!/bin/sh\necho $$ >>'${started}'\n${program}\n`, { mode: 0o755 })
  process.execPath = path
  onTestFinished(() => {
    process.execPath = execPath
    vi.restoreAllMocks()
  })
  return () => (existsSync(started) ? readFileSync(started, 'utf8').trim().split('\n').map(Number) : [])
}

async function findingsOf(store: Store, options: { signal?: AbortSignal } = {}): Promise<string[]> {
  const found: Finding[] = []
  await store.verify({ ...options, onFinding: finding => found.push(finding) })
  return found.filter(({ conversation }) => conversation === null).map(({ what }) => what)
}

describe.each(ways)('a check of a large file by a process that %s starts', (_, memory) => {
  it('has the findings of a check in this process', async () => {
    const started = startInstead(memory, `exec '${process.execPath}' "$@"`)
    await using store = await openSqliteStore(file)
    const found = await findingsOf(store)
    expect(started()).toHaveLength(1)
    expect(found).toContain(
      '6 rows of skein_messages that refer to skein_conversations refer to what is not there',
    )
    const db = new BetterSqlite3(file)
    expect(await findingsOf(await sqliteStore(db))).toEqual(found)
    db.close()
    // A borrowed handle may be in a transaction, whose changes no other handle sees.
    expect(started()).toHaveLength(1)
  })

  it('waits for the checks before it', async () => {
    const [running, twice] = [join(folder, 'running'), join(folder, 'twice')]
    const check = `'${process.execPath}' "$@"`
    const started = startInstead(
      memory,
      `mkdir '${running}' || touch '${twice}'\n${check}\nrmdir '${running}'`,
    )
    await using store = await openSqliteStore(file)
    const found = await Promise.all(Array.from({ length: 4 }, () => findingsOf(store)))
    expect(new Set(found.map(one => one.join('\n'))).size).toBe(1)
    expect(started()).toHaveLength(4)
    expect(existsSync(twice)).toBe(false)
  })

  it('does not wait any longer when it is aborted', async () => {
    const started = startInstead(memory, 'kill -STOP $$')
    const store = await openSqliteStore(file)
    const first = store.verify().catch(error => error)
    await vi.waitUntil(() => started()[0], { timeout: 20_000, interval: 10 })
    const controller = new AbortController()
    const second = store.verify({ signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    await store.close()
    expect(await first).toMatchObject({ code: 'unavailable' })
    expect(started()).toHaveLength(1)
  })

  it.each(['aborted', 'closed'] as const)('ends the process when it is %s', async how => {
    // Frozen, so that only a kill ends it.
    const started = startInstead(memory, 'kill -STOP $$')
    const store = await openSqliteStore(file)
    const controller = new AbortController()
    const verified = store.verify({ signal: controller.signal }).catch(error => error)
    const pid = await vi.waitUntil(() => started()[0], { timeout: 20_000, interval: 10 })
    const reason = new Error('enough')
    if (how === 'aborted') controller.abort(reason)
    await store.close()
    expect(await verified).toMatchObject(how === 'aborted' ? reason : { code: 'unavailable' })
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })
})
