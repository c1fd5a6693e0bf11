import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sha256Hex } from '../../src/core/hash.ts'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import type { StoreRecord } from '../../src/core/record.ts'
import { openStore } from '../../src/stores/open.ts'
import { migrations as postgresMigrations } from '../../src/stores/postgres/migrations.ts'
import { copyPath, migrateFile } from '../../src/stores/sqlite/migrate.ts'
import { migrations } from '../../src/stores/sqlite/migrations.ts'
import { engines, freshTarget } from '../recorder/engines.ts'
import { loadPostgres, recordsOf, releasedVersions, truthOf, unpackSqlite } from '../released/released.ts'
import { openPool } from '../stores/postgres/database.ts'
import { claimVersion, lookAt, migrateToNext, newestVersions } from './next-version.ts'
import { note } from './note.ts'
import { seededRandom } from './random.ts'
import { size } from './size.ts'

const kills = size({ gate: 3, full: 50 })

/** A store as a released version has left it. */
async function released(engine: (typeof engines)[number], version: number): Promise<string> {
  const target = await freshTarget(engine)
  if (engine === 'sqlite') unpackSqlite(version, target)
  else {
    const pool = openPool(target)
    await loadPostgres(version, pool)
    await pool.end()
  }
  return target
}

/** Expects that a store contains all the data, unaltered. */
async function expectTruth(target: string, version: number): Promise<void> {
  const { ids, records } = truthOf(target.startsWith('postgres') ? 'postgres' : 'sqlite', version)
  await using store = await openStore(target)
  expect((await recordsOf(store, ids)).map(brief)).toEqual(records.map(brief))
}

/** A blob by the hash of its bytes: a diff of the bytes would be unreadable. */
function brief(record: unknown): unknown {
  const { data } = record as { data?: unknown }
  return typeof data === 'string' ? { ...(record as object), data: sha256Hex(data) } : record
}

describe.each(engines)('a store of %s', engine => {
  const known = engine === 'sqlite' ? migrations : postgresMigrations
  const newest = newestVersions[engine]

  it('is kept here for every version', () => {
    expect(releasedVersions[engine]).toEqual(known.map(({ version }) => version))
  })

  it.each(releasedVersions[engine])('of version %i is migrated without loss (R10)', async version => {
    const target = await released(engine, version)
    await expectTruth(target, version)
    await using store = await openStore(target)
    expect(await store.schemaVersion()).toBe(known.at(-1)!.version)
    // It is a store like any other: its data passes every check, is found by search, and can be continued.
    const { ids, records } = truthOf(engine, version)
    await using other = await openStore(':memory:')
    const sent = records.map(record => asStored(record))
    const refused = (await other.writeRecords(sent)).filter(({ outcome }) => outcome === 'refused')
    expect(refused).toEqual([])
    if (version >= 7) {
      expect(await store.findToken('0'.repeat(64))).toMatchObject({
        name: 'sample',
        scopes: ['read', 'write'],
      })
      expect(await store.getTask('T-sample')).toMatchObject({ project: 'web', status: 'queued' })
    }
    expect((await store.search('story')).items.map(({ conversation }) => conversation.id)).toContain(ids[0])
    const { branch } = (await store.findByKey('sample:tree'))!
    const { head } = await store.append(branch, branch.head, [{ role: 'user', content: 'Still here?' }])
    expect(textOf((await pathOf(store, head)).at(-1)!)).toBe('Still here?')
    note('records', records.length)
  })

  it('resumes its migration after kill -9 without loss (R10)', {
    timeout: 60_000 + kills * 20_000,
  }, async () => {
    const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 1_000_000)
    console.log(`kills with seed ${seed}`)
    const random = seededRandom(seed)
    const healthy = await released(engine, newest)
    const began = performance.now()
    await migrateToNext(healthy)
    const took = performance.now() - began
    const { renewed } = await lookAt(healthy)
    expect(renewed).toBeGreaterThan(20)
    let before = 0
    for (let round = 0; round < kills; round++) {
      const target = await released(engine, newest)
      // The first kill comes as soon as the migration begins, so that at least one precedes the end.
      await killWhileMigrating(target, round === 0 ? 0 : random() * took)
      const left = await lookAt(target)
      if (left.version === newest) {
        before++
        expect(left.renewed).toBeNull()
        await expectTruth(target, newest)
      }
      if (engine === 'sqlite') ageCopies(target)
      await migrateToNext(target)
      expect(await lookAt(target)).toEqual({ version: newest + 1, renewed })
      await claimVersion(target, newest)
      await expectTruth(target, newest)
      if (engine === 'sqlite') await expectOneCopy(target)
    }
    note('kills', kills)
    note('before its end', before)
    note('lost', 0)
    expect(before).toBeGreaterThan(0)
  })

  it('of a newer version is refused without a byte written, also while another process uses it (R10)', async () => {
    const target = await released(engine, newest)
    await migrateToNext(target)
    const refusal = { code: 'schema_too_new', found: newest + 1, known: newest }
    if (engine === 'postgres') {
      const pool = openPool(target)
      // The transaction that wrote each row, and the list of tables.
      const written = () =>
        pool.query(`
          SELECT (SELECT string_agg(xmin::text || version, ' ') FROM skein.schema_version) AS version,
            (SELECT string_agg(xmin::text || title, ' ' ORDER BY id) FROM skein.conversations) AS titles,
            (SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
              WHERE relnamespace = 'skein'::regnamespace) AS names`)
      const before = await written()
      await expect(openStore(target)).rejects.toMatchObject(refusal)
      expect((await written()).rows).toEqual(before.rows)
      return
    }
    const owner = new BetterSqlite3(target)
    onTestFinished(() => void owner.close())
    owner.pragma('journal_mode = WAL')
    owner.prepare('INSERT INTO skein_more VALUES (0)').run()
    const bytes = () => ['', '-wal'].map(end => readFileSync(target + end))
    const before = bytes()
    await expect(openStore(target)).rejects.toMatchObject(refusal)
    expect(bytes()).toEqual(before)
    owner.prepare('INSERT INTO skein_more VALUES (1)').run()
  })
})

it('control: detects a migration that drops a word', async () => {
  const target = await released('sqlite', newestVersions.sqlite)
  const db = new BetterSqlite3(target)
  const sql = `UPDATE skein_messages SET label = NULL WHERE label = 'question'`
  await migrateFile(db, [...migrations, { version: newestVersions.sqlite + 1, name: 'careless', sql }])
  db.close()
  await claimVersion(target, newestVersions.sqlite)
  await expect(expectTruth(target, newestVersions.sqlite)).rejects.toThrow('expected')
})

async function killWhileMigrating(target: string, ms: number): Promise<void> {
  const child = fork(join(import.meta.dirname, 'next-version.ts'), [target], { execArgv: [] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const gone = once(child, 'exit')
  await once(child, 'message')
  await new Promise(resolve => setTimeout(resolve, ms))
  child.kill('SIGKILL')
  await gone
}

/** Simulates the passing of time: a file that was modified a moment ago may still be in use. */
function ageCopies(target: string): void {
  for (const name of readdirSync(dirname(target))) {
    if (name.includes('before-migration')) utimesSync(join(dirname(target), name), 0, 0)
  }
}

/** The copy is complete, and the partial copies of killed processes are removed. */
async function expectOneCopy(target: string): Promise<void> {
  const beside = readdirSync(dirname(target)).filter(name => name.includes('before-migration'))
  expect(beside.filter(name => !/-(wal|shm)$/.test(name))).toEqual(['conversations.db.before-migration'])
  await expectTruth(copyPath(target), newestVersions.sqlite)
}

/** A record of the truth as a store accepts it. */
function asStored(record: unknown): StoreRecord {
  const { kind, data } = record as { kind: string; data?: string }
  const whole = kind === 'blob' ? { ...(record as object), data: Buffer.from(data!, 'base64') } : record
  return whole as StoreRecord
}
