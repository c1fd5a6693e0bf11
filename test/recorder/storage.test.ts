import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { StorageFullError, UnavailableError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { allSaved, beginTurn, type Trouble, type TurnRecording } from '../../src/recorder/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { freshDatabase } from '../stores/postgres/database.ts'
import { startProxy } from '../stores/postgres/proxy.ts'
import { lockFile } from '../support/lock-file.ts'
import { temporaryFile } from './engines.ts'
import { assistant, text, user } from './place.ts'

async function said(store: Store, turn: TurnRecording): Promise<readonly string[]> {
  const { head } = await store.getBranch(turn.branch)
  return (await pathOf(store, head!)).map(textOf)
}

/** A listener, and the troubles that it got. */
function listener() {
  const told: Trouble[] = []
  const onTrouble = (trouble: Trouble) => told.push(trouble)
  return { told, onTrouble, kinds: () => told.map(({ kind }) => kind) }
}

it('continues on a full disk, and stores everything when there is space again (S1-39, R4)', async () => {
  const db = new BetterSqlite3(temporaryFile())
  onTestFinished(() => void db.close())
  db.pragma('journal_mode = WAL')
  const store = await sqliteStore(db)
  const { branch } = await store.create()
  const { onTrouble, kinds, told } = listener()
  const turn = await beginTurn(store, branch, { words: [user('q')], onTrouble })
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`)
  const long = 'x'.repeat(10_000)
  // The free space of the last pages may still take some.
  for (let i = 0; i < 20; i++) await turn.add([assistant(`${i} ${long}`)])
  expect(kinds()).toEqual(['degraded'])
  expect(told[0]?.error).toBeInstanceOf(StorageFullError)
  turn.draft(text('half an'))
  const stored = (await said(store, turn)).length
  expect(stored).toBeLessThan(21)
  db.pragma('max_page_count = 1000000')
  await expect.poll(kinds, { timeout: 10_000 }).toEqual(['degraded', 'recovered'])
  expect(await turn.end('interrupted')).toMatchObject({ saved: true })
  const steps = Array.from({ length: 20 }, (_, i) => `${i} ${long}`)
  expect(await said(store, turn)).toEqual(['q', ...steps, 'half an'])
  const events = await collectPages(page => store.listEvents(branch.conversationId, page))
  expect(events.map(({ type }) => type)).toEqual(['degraded', 'recovered'])
})

it('stores the end of a turn that a full disk refused when there is space again (R4)', async () => {
  const db = new BetterSqlite3(temporaryFile())
  onTestFinished(() => void db.close())
  db.pragma('journal_mode = WAL')
  const store = await sqliteStore(db)
  const { branch } = await store.create()
  const turn = await beginTurn(store, branch, { words: [user('q')], limits: { endWithinMs: 300 } })
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`)
  const long = assistant('x'.repeat(1_000_000))
  expect(await turn.add([long])).toEqual({ ids: null })
  const report = await turn.end('complete')
  expect(report).toMatchObject({ saved: false, unsaved: [long] })
  expect(await said(store, turn)).toEqual(['q'])
  db.pragma('max_page_count = 1000000')
  expect(await allSaved(store)).toBe(true)
  expect(await said(store, turn)).toEqual(['q', textOf(long)])
})

it('does not wait for a locked file, and reports it first (S1-39)', async () => {
  const file = temporaryFile()
  const store = await openStore(file)
  onTestFinished(() => store.close())
  const { branch } = await store.create()
  const { onTrouble, kinds } = listener()
  using lock = await lockFile(file)
  const started = performance.now()
  const turn = await beginTurn(store, branch, { words: [user('q')], onTrouble })
  const took = performance.now() - started
  expect(kinds()).toEqual(['degraded', 'unsaved'])
  expect(took).toBeGreaterThan(1_900)
  expect(await turn.add([assistant('a')])).toEqual({ ids: null })
  await lock.release()
  await expect.poll(kinds, { timeout: 15_000 }).toEqual(['degraded', 'unsaved', 'recovered'])
  expect(await turn.end('complete')).toMatchObject({ saved: true })
  expect(await said(store, turn)).toEqual(['q', 'a'])
})

it('continues while PostgreSQL is away, and stores everything once when it is back (S1-39, R23, R24)', async () => {
  const proxy = await startProxy(await freshDatabase())
  const store = await openStore(proxy.url)
  onTestFinished(() => store.close())
  const { branch } = await store.create()
  const { onTrouble, kinds, told } = listener()
  const turn = await beginTurn(store, branch, { words: [user('q')], onTrouble })
  await turn.add([assistant('a')])
  proxy.cut = () => 'after'
  expect(await turn.add([assistant('b')])).toEqual({ ids: null })
  proxy.cut = () => 'before'
  expect(await turn.add([assistant('c')])).toEqual({ ids: null })
  turn.draft(text('half an'))
  expect(kinds()).toEqual(['degraded'])
  proxy.cut = () => null
  await expect.poll(kinds, { timeout: 10_000 }).toEqual(['degraded', 'recovered'])
  expect((await turn.add([assistant('d')])).ids).toHaveLength(1)
  expect(await turn.end('complete')).toMatchObject({ saved: true, unsaved: [] })
  expect(await said(store, turn)).toEqual(['q', 'a', 'b', 'c', 'd'])
  expect(told[0]?.error).toMatchObject({ code: expect.stringMatching(/outcome_unknown|unavailable/) })
})

it('ends in time if PostgreSQL stays away, and returns the unsaved messages (R24)', async () => {
  const proxy = await startProxy(await freshDatabase())
  const store = await openStore(proxy.url)
  onTestFinished(() => store.close())
  const { branch } = await store.create()
  const turn = await beginTurn(store, branch, { words: [user('q')], limits: { endWithinMs: 500 } })
  proxy.cut = () => 'before'
  await turn.add([assistant('a')])
  const started = performance.now()
  expect(await turn.end('complete')).toMatchObject({ saved: false, unsaved: [assistant('a')] })
  expect(performance.now() - started).toBeLessThan(4_000)
})

it('fails if the store is closed, and does not hang', async () => {
  const store = await openStore(':memory:')
  const { branch } = await store.create()
  const { onTrouble, told } = listener()
  const turn = await beginTurn(store, branch, { words: [user('q')], onTrouble, limits: { endWithinMs: 100 } })
  await store.close()
  expect(await turn.add([assistant('a')])).toEqual({ ids: null })
  expect(told[0]?.error).toBeInstanceOf(UnavailableError)
  expect(await turn.end('complete')).toMatchObject({ saved: false, unsaved: [assistant('a')] })
})

it('keeps a process alive at its end until the writes are stored', async () => {
  const at = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)))
  const script = `
    const { openStore } = await import(${at('stores/open.ts')})
    const { beginTurn } = await import(${at('recorder/index.ts')})
    const store = await openStore(':memory:')
    const { branch } = await store.create()
    await store.close()
    const limits = { writeWithinMs: 200, endWithinMs: 600 }
    const turn = await beginTurn(store, branch, { words: [{ role: 'user', content: 'q' }], limits })
    await turn.add([{ role: 'assistant', content: 'a' }])
    console.log(JSON.stringify(await turn.end('complete')))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [[line], [code]] = await Promise.all([once(child.stdout, 'data'), once(child, 'close')])
  expect(code).toBe(0)
  expect(JSON.parse(String(line))).toMatchObject({ saved: false, unsaved: [user('q'), assistant('a')] })
})
