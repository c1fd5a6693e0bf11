import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConversationId, MessageId } from '../../../src/core/ids.ts'
import type { ListedConversation } from '../../../src/core/listing.ts'
import type { Store } from '../../../src/core/ports.ts'
import type { Dispatch } from '../../../src/core/task.ts'
import { first, type Program, run } from '../../../src/stores/engine/engine.ts'
import { openStore } from '../../../src/stores/open.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { openSqliteStore, type SqliteOptions } from '../../../src/stores/sqlite/index.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { systemSource } from '../../../src/system/source.ts'
import { holder, say } from '../../../src/testing/contract/build.ts'

let folder: string
let file: string
const opened: { close(): unknown }[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'driver-'))
  file = join(folder, 'conversations.db')
})
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A handle as the driver creates it, with access to its store and engine. */
async function openHandle(path = file): Promise<{ db: Database; store: Store; engine: Engine }> {
  const db = new BetterSqlite3(path, { timeout: 0 })
  opened.push(db)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  // Disables SQLite's own checkpoints.
  db.pragma('wal_autocheckpoint = 0')
  await migrateFile(db)
  const engine = sqliteEngine(db, { source: systemSource, owned: true })
  return { db, engine, store: storeOver(engine, async () => 1) }
}
type Engine = ReturnType<typeof sqliteEngine>

const count = (db: Database) => db.prepare('SELECT count(*) FROM skein_conversations').pluck().get() as number

describe('a program of SQLite', () => {
  function* failing(then: () => unknown): Program<void> {
    yield* run('putState', { name: 'written', value: 1 })
    then()
  }
  function* isWritten(): Program<boolean> {
    return (yield* first('state', { name: 'written' })) !== undefined
  }

  it('leaves nothing if it throws, and the next one runs', async () => {
    const { engine, db } = await openHandle()
    const fault = new Error('of the program')
    const failed = engine.write(() =>
      failing(() => {
        throw fault
      }),
    )
    await expect(failed).rejects.toBe(fault)
    expect(db.inTransaction).toBe(false)
    expect(await engine.query(isWritten)).toBe(false)
    await engine.write(() => failing(() => {}))
    expect(await engine.query(isWritten)).toBe(true)
  })

  it('leaves nothing if a statement fails', async () => {
    const { engine } = await openHandle()
    function* twice(): Program<void> {
      yield* run('putState', { name: 'written', value: 1 })
      yield* run('insertEvent', { conv: 99, n: 0, type: 'plan', at: 0, data: '{}' })
    }
    await expect(engine.write(twice)).rejects.toThrow('FOREIGN KEY')
    expect(await engine.query(isWritten)).toBe(false)
  })

  it('reads one snapshot, whatever is written meanwhile', async () => {
    const { engine } = await openHandle()
    const { engine: other } = await openHandle()
    let meanwhile: Promise<void> | undefined
    function* look(): Program<boolean[]> {
      const before = yield* isWritten()
      meanwhile = other.write(() => failing(() => {}))
      return [before, yield* isWritten()]
    }
    expect(await engine.read(look)).toEqual([false, false])
    await meanwhile
    expect(await engine.query(isWritten)).toBe(true)
  })
})

describe('a handle of SQLite', () => {
  it('sees the writes of another handle in the same process at once', async () => {
    const one = await openSqliteStore(file)
    const two = await openSqliteStore(file)
    opened.push(one, two)
    const { branch } = await one.create({ key: 'k' })
    const { head } = await two.append(branch, null, [say('by two')])
    const answer = await one.append(branch, head, [say('by one')])
    expect(await two.getBranch(branch)).toMatchObject({ head: answer.head })
    await one.close()
    await two.append(branch, answer.head, [say('one is closed')])
  })

  it('waits for a writer of another process and gives up in time', { timeout: 20_000 }, async () => {
    const { store } = await openHandle()
    const { db: other } = await openHandle()
    other.exec('BEGIN IMMEDIATE')
    const patient = store.create()
    setTimeout(() => other.exec('COMMIT'), 200)
    await patient
    other.exec('BEGIN IMMEDIATE')
    const begun = performance.now()
    // More than share a transaction.
    const refused = await Promise.allSettled(Array.from({ length: 100 }, () => store.create()))
    for (const one of refused) expect(one).toMatchObject({ reason: { code: 'unavailable' } })
    expect(performance.now() - begun).toBeGreaterThan(4_000)
    other.exec('COMMIT')
    expect(count(other)).toBe(1)
  })

  it('waits when it opens a file that another process holds exclusively', async () => {
    await (await openSqliteStore(file)).close()
    const sqlite = createRequire(import.meta.url).resolve('better-sqlite3')
    const holding = `
      const db = new (require(${JSON.stringify(sqlite)}))(${JSON.stringify(file)})
      db.pragma('locking_mode = EXCLUSIVE')
      db.exec('BEGIN IMMEDIATE; COMMIT')
      process.stdout.write('held')
      setTimeout(() => db.close(), 300)`
    const holder = spawn(process.execPath, ['-e', holding], { stdio: ['ignore', 'pipe', 'inherit'] })
    const gone = once(holder, 'exit')
    await once(holder.stdout, 'data')
    const impatient = new BetterSqlite3(file, { timeout: 0 })
    expect(() => impatient.prepare('SELECT * FROM skein_state').all()).toThrow('locked')
    impatient.close()
    const store = await openSqliteStore(file)
    opened.push(store)
    expect(await store.countConversations()).toBe(0)
    await gone
  })

  it('retries a read while another process recovers the log', async () => {
    const { db, store } = await openHandle()
    const prepare = db.prepare.bind(db)
    let busy = 3
    db.prepare = ((sql: string) => {
      const statement = prepare(sql)
      const all = statement.all.bind(statement)
      statement.all = (...values) => {
        if (busy-- > 0) throw new BetterSqlite3.SqliteError('database is locked', 'SQLITE_BUSY_RECOVERY')
        return all(...values)
      }
      return statement
    }) as typeof db.prepare
    expect(await store.countConversations()).toBe(0)
    busy = 3
    expect(await store.findByKey('k')).toBeNull()
    expect(db.inTransaction).toBe(false)
  })

  it.each([
    ['full', 2],
    ['normal', 1],
  ] as const)('waits for the disk as durability %s requires', async (durability, synchronous) => {
    expect(await settingOf('synchronous', { durability })).toBe(synchronous)
  })

  it('caches as many pages as cacheBytes allows, and 16 MB of them by default', async () => {
    expect(await settingOf('cache_size', { cacheBytes: 2_048_000 })).toBe(-2_000)
    expect(await settingOf('cache_size', {})).toBe(-16_000)
    for (const cacheBytes of [0, 102_399, 204_800.5, Number.NaN, 2 ** 31])
      await expect(openSqliteStore(file, { cacheBytes })).rejects.toMatchObject({ field: 'cacheBytes' })
    const server = openStore('postgres://localhost/none', { cacheBytes: 2_048_000 })
    await expect(server).rejects.toMatchObject({ field: 'cacheBytes' })
  })

  /** A setting of the handle of a store, as it is once the store is open. */
  async function settingOf(name: string, options: SqliteOptions): Promise<unknown> {
    const settings: unknown[] = []
    const { exec } = BetterSqlite3.prototype
    BetterSqlite3.prototype.exec = function (this: Database, text) {
      exec.call(this, text)
      settings.push(this.pragma(name, { simple: true }))
      return this
    }
    try {
      opened.push(await openSqliteStore(file, options))
    } finally {
      BetterSqlite3.prototype.exec = exec
    }
    return settings.at(-1)
  }
})

describe('the search index of SQLite', () => {
  /** A search cannot show it: hits of the index are checked against the messages. */
  it('keeps no word that was erased, deleted or purged', async () => {
    const { store, db } = await openHandle()
    const found = (word: string) =>
      db.prepare('SELECT count(*) FROM skein_search WHERE skein_search MATCH ?').pluck().get(`"${word}"`)
    const { branch } = await store.create()
    const { ids } = await store.append(branch, null, [say('erased'), say('deleted'), say('purged')])
    await store.indexSearch()
    const words = ['erased', 'deleted', 'purged']
    expect(words.map(found)).toEqual([1, 1, 1])
    await store.eraseMessages([ids[0]], { by: 'me', reason: 'private' })
    expect(words.map(found)).toEqual([0, 1, 1])
    await store.deleteMessages([ids[2]!])
    await store.append(branch, ids[1]!, [say('purged')])
    await store.indexSearch()
    expect(words.map(found)).toEqual([0, 1, 1])
    await store.trash(branch.conversationId)
    await store.purge(branch.conversationId)
    expect(words.map(found)).toEqual([0, 0, 0])
    expect(db.prepare('SELECT count(*) FROM skein_search_map').pluck().get()).toBe(0)
  })
})

describe('a closed store of SQLite', () => {
  const id = '11111111-1111-4111-8111-111111111111' as ConversationId
  const message = 'a'.repeat(32) as MessageId
  const ref = { conversationId: id, name: 'main' }
  const range = { first: message, last: message }
  const claim = { task: 't', n: 1, attempt: 1 }
  const seen = { task: 't', n: 1, attempts: 1 }
  const listed = { id, branch: { head: null } } as ListedConversation
  const calls: {
    [M in Exclude<keyof Store, 'close' | 'leaseMs' | symbol>]: (store: Store) => Promise<unknown>
  } = {
    getConversation: store => store.getConversation(id),
    versionOf: store => store.versionOf(id),
    getBranch: store => store.getBranch(ref),
    listBranches: store => store.listBranches(id),
    findByKey: store => store.findByKey('k'),
    findByTask: store => store.findByTask('t'),
    findByAgentLink: store => store.findByAgentLink('a', 'f'),
    listAgentLinks: store => store.listAgentLinks(ref),
    resolve: store => store.resolve('k'),
    getMessages: store => store.getMessages([message]),
    listPath: store => store.listPath(message),
    tail: store => store.tail(message, { messages: 1 }),
    findWithTail: store => store.findWithTail('k', { messages: 1 }),
    listStretches: store => store.listStretches(id),
    findTurn: store => store.findTurn(id, 't'),
    readBlob: store => store.readBlob('0'.repeat(64)),
    listTurns: store => store.listTurns(id),
    readDraft: store => store.readDraft(id, 't'),
    listSummaries: store => store.listSummaries(id),
    listEvents: store => store.listEvents(id),
    listApprovals: store => store.listApprovals(),
    getApproval: store => store.getApproval(id, 'a'),
    answerApproval: store => store.answerApproval(id, 'a', { answer: 'allow' }),
    create: store => store.create(),
    findOrCreate: store => store.findOrCreate('k'),
    findOrCreateByTask: store => store.findOrCreateByTask('t'),
    updateConversation: store => store.updateConversation(id, { title: 't' }),
    ifVersion: store => store.ifVersion(id, 1).trash(id),
    append: store => store.append(ref, null, [say('x')]),
    save: store => store.save(id, [{ message: say('x'), parent: null }]),
    setLabel: store => store.setLabel(message, 'l'),
    createBranch: store => store.createBranch(id, null, { name: 'b' }),
    renameBranch: store => store.renameBranch(ref, 'b'),
    deleteBranch: store => store.deleteBranch(ref),
    moveBranch: store => store.moveBranch(ref, null, null),
    activateBranch: store => store.activateBranch(ref),
    setKey: store => store.setKey(ref, 'k'),
    moveKey: store => store.moveKey(ref, 'b'),
    setAgentLink: store =>
      store.setAgentLink(ref, { agent: 'a', directory: '/', foreignId: 'f', seen: null }),
    removeAgentLink: store => store.removeAgentLink(ref, 'a', '/'),
    reset: store => store.reset(ref),
    putDraft: store => store.putDraft(id, 't', holder(), [{ n: 0, type: 'text', text: 'x' }]),
    renewTurn: store => store.renewTurn(id, 't', holder()),
    endTurn: store => store.endTurn(id, 't', { status: 'complete', heldBy: holder() }),
    reopenTurn: store => store.reopenTurn(ref, holder()),
    addEvents: store => store.addEvents(id, [{ type: 'plan' }]),
    claimSummary: store => store.claimSummary(id, range, holder()),
    putSummary: store => store.putSummary(id, { ...range, tokens: 1, text: 't', holder: holder() }),
    listConversations: store => store.listConversations(),
    countConversations: store => store.countConversations(),
    listDirectories: store => store.listDirectories(),
    listMessages: store => store.listMessages({ conversationId: id }),
    readPathSection: store => store.readPathSection(message),
    readOverviews: store => store.readOverviews([listed]),
    versionsOf: store => store.versionsOf([id]),
    uniqueLengths: store => store.uniqueLengths([id]),
    search: store => store.search('x'),
    deleteMessages: store => store.deleteMessages([message]),
    eraseMessages: store => store.eraseMessages([message], { by: 'b', reason: 'r' }),
    trash: store => store.trash(id),
    restore: store => store.restore(id),
    purge: store => store.purge(id),
    sweep: store => store.sweep(),
    indexSearch: store => store.indexSearch(),
    rebuildSearch: store => store.rebuildSearch(),
    compact: store => store.compact(),
    verify: store => store.verify(),
    measureConversation: store => store.measureConversation(id),
    measure: store => store.measure(new Date(0)),
    schemaVersion: store => store.schemaVersion(),
    readRecords: store => store.readRecords(id)[Symbol.asyncIterator]().next(),
    writeRecords: store => store.writeRecords([{ kind: 'blob', hash: '', data: new Uint8Array() }]),
    readTaskRecords: store => store.readTaskRecords()[Symbol.asyncIterator]().next(),
    submitTask: store => store.submitTask({ description: 'd' }),
    dispatchTask: store => store.dispatchTask('t'),
    claimDispatch: store => store.claimDispatch({ holder: holder(), worker: 'w' }),
    claimThisDispatch: store => store.claimThisDispatch('t', 1, { holder: holder(), worker: 'w' }),
    renewDispatch: store => store.renewDispatch(claim),
    linkDispatch: store => store.linkDispatch(claim, id),
    finishDispatch: store => store.finishDispatch(claim, { status: 'done' }),
    releaseDispatch: store => store.releaseDispatch(claim),
    reclaimDispatch: store => store.reclaimDispatch({ ...seen, leaseUntil: null } as Dispatch),
    cancelTask: store => store.cancelTask('t'),
    retryTask: store => store.retryTask('t'),
    getTask: store => store.getTask('t'),
    listTasks: store => store.listTasks(),
    getDispatch: store => store.getDispatch('t', 1),
    listDispatches: store => store.listDispatches('t'),
    listRunningDispatches: store => store.listRunningDispatches(),
    countTasks: store => store.countTasks(),
    deleteTask: store => store.deleteTask('t'),
    deleteProject: store => store.deleteProject('p'),
    follow: store => store.follow(id)[Symbol.asyncIterator]().next(),
    followActivity: store => store.followActivity()[Symbol.asyncIterator]().next(),
    followTasks: store => store.followTasks()[Symbol.asyncIterator]().next(),
    addToken: store => store.addToken({ hash: '0'.repeat(64), name: 'n', scopes: ['read'] }),
    findToken: store => store.findToken('0'.repeat(64)),
    listTokens: store => store.listTokens(),
    revokeToken: store => store.revokeToken('id'),
  }

  it.each(Object.entries(calls))('reports that it is closed when it is asked to %s', async (_, call) => {
    const store = await openSqliteStore(':memory:')
    await store.close()
    await expect(call(store)).rejects.toMatchObject({ name: 'UnavailableError', code: 'unavailable' })
  })

  it('can be closed again, and right after a write', async () => {
    const store = await openSqliteStore(file)
    for (let i = 0; i < 50; i++) await store.create()
    await store.close()
    await store.close()
    await new Promise(setImmediate)
    const again = await openSqliteStore(file)
    opened.push(again)
    expect(await again.countConversations()).toBe(50)
  })
})

describe('a store in memory', () => {
  it('is independent of every other one', async () => {
    const [one, two] = await Promise.all([openSqliteStore(':memory:'), openSqliteStore(':memory:')])
    opened.push(one, two)
    await one.create({ key: 'k' })
    expect(await one.findByKey('k')).not.toBeNull()
    expect(await two.findByKey('k')).toBeNull()
  })
})
