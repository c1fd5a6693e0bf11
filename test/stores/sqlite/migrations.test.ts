import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sha256Hex } from '../../../src/core/hash.ts'
import type { Migration } from '../../../src/stores/engine/schema.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { copyPath, migrateFile, schemaVersion } from '../../../src/stores/sqlite/migrate.ts'
import { migrations } from '../../../src/stores/sqlite/migrations.ts'
import { startConversation } from '../../../src/testing/contract/build.ts'
import { startWorker, type Worker } from '../../support/workers.ts'

/** A released migration is history. Version 1 may still change until the first release: then put the
 *  printed hash here. After that, a change of the schema is a new migration with a new line. */
const released: Record<number, string> = {
  1: 'fc0220946abd813d86f8a44279e13ba85457f53eaaa2b9ecd12e8aa63d8592f7',
  2: '5b1f6e3b1a9be17238a78bd96159be1af4e0a61a8c318f7c9605a4539ea4e9bc',
  3: '206d4711b3a78587c42269d0c75887244b9c239b2805b5ad08d3943424dee0dd',
  4: '79edcb4f67aa2732b6904313e4c6f30978254d44efe1cf1fabed191bbb06c761',
  5: 'f8db5976f28a0859a67579b776893b28cd04a792c1aa1c4f7face8872bf30858',
  6: 'f51fb11bc9b802ce01cac3a83801a9e5d6c4fa2591b45b5bfc6678dec0cc4afd',
  7: '0b8629126bc1492c25140b2ca59bdc589ff930566890dacbdda93d68dd68829a',
  8: '43f04509268c8e84e9ca0511b4805436d54a4a34e7089585abe796b7dc563be1',
  9: '2a986b11d7d69424ed4773bca0360643b380d81a634e44bbd9cb48994e8600aa',
  10: '2985108858a053c8e26e1f111681203b2435989e9e74b37cd136238375227cb2',
}

/** A future version. */
const newest = migrations.at(-1)!.version
const second: Migration = {
  version: newest + 1,
  name: 'a table more',
  sql: 'CREATE TABLE skein_more (x); INSERT INTO skein_more VALUES (1)',
}
const third: Migration = { version: newest + 2, name: 'and another', sql: 'CREATE TABLE skein_third (x)' }

let folder: string
let file: string
const handles: Database[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'migrations-'))
  file = join(folder, 'conversations.db')
})
afterEach(() => {
  for (const db of handles.splice(0)) db.close()
  rmSync(folder, { recursive: true, force: true })
})

function handle(path = file): Database {
  const db = new BetterSqlite3(path)
  handles.push(db)
  return db
}

/** A closed file of the newest version with one conversation of three messages. */
async function fill(): Promise<void> {
  const store = await openSqliteStore(file)
  await startConversation(store, { key: 'k' })
  await store.close()
}

/** As if another process had migrated. */
function putVersion(version: number): void {
  handle().prepare(`UPDATE skein_state SET value = ? WHERE name = 'schema'`).run(version)
}

function schemaOf(db: Database): unknown[] {
  return db.prepare(`SELECT type, name, sql FROM sqlite_master ORDER BY type, name`).all()
}

const messagesIn = (db: Database) => db.prepare('SELECT count(*) FROM skein_messages').pluck().get()
const filesHere = () => readdirSync(folder).sort()

describe('the migrations of SQLite', () => {
  it('are numbered from 1 without a gap, and each has a name', () => {
    expect(migrations.map(one => one.version)).toEqual(migrations.map((_, i) => i + 1))
    for (const { name, sql } of migrations) expect([name, sql].every(text => text.length > 10)).toBe(true)
  })

  it('are not edited after their release', () => {
    expect(Object.fromEntries(migrations.map(({ version, sql }) => [version, sha256Hex(sql)]))).toEqual(
      released,
    )
  })

  it('create the same schema step by step and at once', async () => {
    const stepwise = handle(':memory:')
    for (let upto = 1; upto <= newest; upto++) await migrateFile(stepwise, migrations.slice(0, upto))
    await migrateFile(stepwise, [...migrations, second])
    const atOnce = handle(':memory:')
    await migrateFile(atOnce, [...migrations, second])
    expect(schemaOf(stepwise)).toEqual(schemaOf(atOnce))
    expect(schemaVersion(stepwise)).toBe(newest + 1)
  })

  it('run once, and opening again writes nothing (S1-17)', async () => {
    await fill()
    const before = readFileSync(file)
    await (await openSqliteStore(file)).close()
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(filesHere()).toEqual(['conversations.db'])
  })
})

describe('a file written by a newer version of Skein', () => {
  it('is refused with both versions, and no byte of it changes', async () => {
    await fill()
    const db = handle()
    await migrateFile(db, [...migrations, second])
    db.close()
    rmSync(copyPath(file))
    const before = readFileSync(file)
    const opened = openSqliteStore(file)
    await expect(opened).rejects.toMatchObject({
      name: 'SchemaTooNewError',
      code: 'schema_too_new',
      found: newest + 1,
      known: newest,
      message: expect.stringMatching(new RegExp(`version ${newest + 1}.*knows ${newest}.*upgrade`)),
    })
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(filesHere()).toEqual(['conversations.db'])
  })

  it('is refused even if it became newer during the copy', async () => {
    await fill()
    const late = handle()
    const migrating = migrateFile(late, [...migrations, second])
    putVersion(newest + 2)
    await expect(migrating).rejects.toMatchObject({ found: newest + 2, known: newest + 1 })
    expect(late.inTransaction).toBe(false)
    expect(schemaOf(late)).not.toContainEqual(expect.objectContaining({ name: 'skein_more' }))
  })
})

describe('a file of an older version', () => {
  it('is copied first, including its log, and the copy is a store', async () => {
    const store = await openSqliteStore(file)
    await startConversation(store, { key: 'k' })
    expect(existsSync(`${file}-wal`)).toBe(true)
    const db = handle()
    await migrateFile(db, [...migrations, second])
    await store.close()
    expect(schemaVersion(db)).toBe(newest + 1)
    expect(messagesIn(db)).toBe(3)
    expect(statSync(copyPath(file)).mode & 0o777).toBe(0o600)
    const copy = await openSqliteStore(copyPath(file))
    expect(await copy.findByKey('k')).toMatchObject({ conversation: { messages: 3 } })
    expect(await copy.schemaVersion()).toBe(newest)
    await copy.close()
  })

  it('leaves one copy, the newest', async () => {
    await fill()
    const db = handle()
    await migrateFile(db, [...migrations, second])
    await migrateFile(db, [...migrations, second, third])
    db.close()
    expect(filesHere()).toEqual(['conversations.db', 'conversations.db.before-migration'])
    expect(schemaVersion(handle(copyPath(file)))).toBe(newest + 1)
  })

  it('keeps the copy of the old version if two processes migrate at once', async () => {
    await fill()
    const late = handle()
    const migrating = migrateFile(late, [...migrations, second])
    // During the copy, another process has copied and migrated.
    writeFileSync(copyPath(file), 'of the quicker one')
    handle().exec(second.sql)
    putVersion(second.version)
    await migrating
    expect(schemaVersion(late)).toBe(newest + 1)
    expect(readFileSync(copyPath(file), 'utf8')).toBe('of the quicker one')
    expect(filesHere().filter(name => name.includes('before-migration.'))).toEqual([])
  })

  it('stays completely unchanged if a migration fails', async () => {
    await fill()
    const db = handle()
    const schema = schemaOf(db)
    const broken = { ...third, sql: `${third.sql}; DELETE FROM skein_messages; SELECT no_such_function()` }
    await expect(migrateFile(db, [...migrations, second, broken])).rejects.toThrow('no_such_function')
    expect(db.inTransaction).toBe(false)
    expect(schemaVersion(db)).toBe(newest)
    expect(schemaOf(db)).toEqual(schema)
    expect(messagesIn(db)).toBe(3)
    expect(db.pragma('busy_timeout', { simple: true })).toBe(5_000)
    await migrateFile(db, [...migrations, second, third])
    expect(schemaVersion(db)).toBe(newest + 2)
  })

  it('is unchanged after a process was killed during a migration', async () => {
    await fill()
    // The migration calls a function that reports its position and never returns.
    const stuck = { ...second, sql: `${second.sql}; DELETE FROM skein_messages; SELECT stay()` }
    const child = spawn(process.execPath, ['--input-type=module', '-e', killedScript(stuck)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const gone = once(child, 'exit')
    const [said] = await Promise.race([once(child.stdout, 'data'), gone])
    expect(String(said)).toBe('inside')
    child.kill('SIGKILL')
    await gone
    const store = await openSqliteStore(file)
    expect(await store.schemaVersion()).toBe(newest)
    expect(await store.findByKey('k')).toMatchObject({ conversation: { messages: 3 } })
    await store.close()
    const db = handle()
    await migrateFile(db, [...migrations, second])
    expect([schemaVersion(db), messagesIn(db)]).toEqual([newest + 1, 3])
  })
})

function killedScript(migration: Migration): string {
  const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
  return `
    import { createRequire } from 'node:module'
    import { writeSync } from 'node:fs'
    import { migrateFile } from ${url('../../../src/stores/sqlite/migrate.ts')}
    import { migrations } from ${url('../../../src/stores/sqlite/migrations.ts')}
    const Database = createRequire(${url('../../../package.json')})('better-sqlite3')
    const db = new Database(${JSON.stringify(file)})
    db.function('stay', () => {
      writeSync(1, 'inside')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })
    await migrateFile(db, [...migrations, ${JSON.stringify(migration)}])`
}

describe('processes that create a file at the same time', () => {
  const workers: Worker[] = []
  afterAll(() => Promise.all(workers.map(worker => worker.kill())))

  it('all open the store', { timeout: 60_000 }, async () => {
    workers.push(...(await Promise.all(Array.from({ length: 8 }, startWorker))))
    for (let round = 0; round < 5; round++) {
      const fresh = join(folder, `round-${round}`, 'conversations.db')
      await Promise.all(workers.map(worker => worker.open(fresh)))
      const made = await Promise.all(workers.map((worker, i) => worker.store.findOrCreate(`key ${i % 2}`)))
      expect(new Set(made.map(place => place.conversation.id)).size).toBe(2)
      const versions = await Promise.all(workers.map(worker => worker.store.schemaVersion()))
      expect(new Set(versions)).toEqual(new Set([newest]))
      expect(readdirSync(join(folder, `round-${round}`)).filter(name => name.includes('before'))).toEqual([])
    }
  })
})
