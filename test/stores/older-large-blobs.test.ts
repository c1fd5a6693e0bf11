import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ReadOnlyError, SchemaTooNewError } from '../../src/core/errors.ts'
import { sha256Hex } from '../../src/core/hash.ts'
import type { MessageId } from '../../src/core/ids.ts'
import { contentOf } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { migrateDatabase } from '../../src/stores/postgres/migrate.ts'
import { migrations as postgresMigrations } from '../../src/stores/postgres/migrations.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { migrateFile } from '../../src/stores/sqlite/migrate.ts'
import { migrations } from '../../src/stores/sqlite/migrations.ts'
import { fileOf, recordsOf as readAll, takeFile } from '../formats/native-file.ts'
import { loadPostgres, oldLargeText, unpackSqlite } from '../released/released.ts'
import { freshDatabase, openPool } from './postgres/database.ts'

// A store of version 9 has each blob in one row, however large it is. The files were written by that version.

const hash = sha256Hex(oldLargeText)
const newText = `narwhal ${'a new large text. '.repeat(330_000)}`
const newHash = sha256Hex(newText)

/** The target of a store of version 9, and the number of rows of a table. */
const olds = {
  SQLite: async () => {
    const file = oldFile()
    const count = async (table: string, where: string) => {
      const db = new BetterSqlite3(file, { readonly: true })
      const rows = db.prepare(`SELECT count(*) FROM skein_${table} WHERE ${where.replace('octet_', '')}`)
      const result = rows.pluck().get() as number
      db.close()
      return result
    }
    return { target: file, count }
  },
  PostgreSQL: async () => {
    const url = await freshDatabase()
    const pool = openPool(url)
    onTestFinished(() => pool.end())
    await loadPostgres(9, pool, '-large')
    const count = async (table: string, where: string) => {
      const { rows } = await pool.query(`SELECT count(*)::int AS n FROM skein.${table} WHERE ${where}`)
      return rows[0].n as number
    }
    return { target: url, count }
  },
}

function oldFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'older-large-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'old.db')
  unpackSqlite(9, file, '-large')
  return file
}

const textOf = async (store: Store, id: MessageId) => contentOf((await store.getMessages([id]))[0]!)

async function idsOf(store: Store): Promise<readonly MessageId[]> {
  const { conversation } = (await store.findByKey('large'))!
  const { items } = await store.listMessages({
    conversationId: conversation.id,
    order: 'ascending',
    blobs: 'preview',
  })
  return items.map(({ id }) => id)
}

describe.each(Object.entries(olds))('a store of schema version 9 of %s with a large blob', (_, openOld) => {
  it('is read, exported, verified, searched and deleted after the upgrade, next to a new one', async () => {
    const { target, count } = await openOld()
    await using store = await openStore(target)
    expect(await store.schemaVersion()).toBeGreaterThan(9)
    const [old] = await idsOf(store)
    const { branch, conversation } = (await store.findByKey('large'))!
    // The migration leaves it in its row, and a message with the same text refers to it.
    const more = await store.append(branch, branch.head, [
      { role: 'user', content: newText },
      { role: 'assistant', content: oldLargeText },
    ])
    const [fresh, repeated] = more.ids as unknown as [MessageId, MessageId]
    const inRows = () => count('blobs', 'octet_length(data) > 1000000')
    const inParts = () => count('blob_parts', 'octet_length(data) > 1000000')
    expect([await inRows(), await inParts()]).toEqual([1, 5])
    // Read.
    expect((await textOf(store, old!)) === oldLargeText).toBe(true)
    expect((await textOf(store, fresh)) === newText).toBe(true)
    expect((await textOf(store, repeated)) === oldLargeText).toBe(true)
    for (const [blob, text] of [
      [hash, oldLargeText],
      [newHash, newText],
    ] as const)
      expect(Buffer.from(await store.readBlob(blob)).toString() === text).toBe(true)
    const previews = await store.getMessages([old!, fresh], { blobs: 'preview' })
    expect(previews.map(one => (contentOf(one) as string).slice(0, 8))).toEqual(['pangolin', 'narwhal '])
    // Exported, and imported into another store.
    const records = await readAll(store, [conversation.id])
    await using copy = await openStore(':memory:')
    const { bad, tally } = await takeFile(copy, fileOf(records), { chunk: 262_144 })
    expect([bad, tally.added.blob]).toEqual([[], 2])
    expect(fileOf(await readAll(copy, [conversation.id])) === fileOf(records)).toBe(true)
    // Verified and searched.
    const none = { damage: 0, repairable: 0, note: 0 }
    expect(await store.verify()).toMatchObject({ blobs: 2, findings: none })
    await store.indexSearch()
    for (const [word, ids] of Object.entries({ pangolin: [old, repeated], narwhal: [fresh] })) {
      const { items } = await store.search(word)
      expect(new Set(items.map(({ message }) => message.id))).toEqual(new Set(ids))
    }
    // Erased and deleted.
    await store.eraseMessages([old!], { by: 'me', reason: 'private' })
    expect((await textOf(store, repeated)) === oldLargeText).toBe(true)
    await store.deleteMessages([repeated])
    await expect(store.readBlob(hash)).rejects.toMatchObject({ code: 'not_found' })
    expect([await inRows(), await inParts()]).toEqual([0, 5])
    await store.deleteMessages([fresh])
    await expect(store.readBlob(newHash)).rejects.toMatchObject({ code: 'not_found' })
    expect([await inRows(), await inParts()]).toEqual([0, 0])
    expect((await store.verify()).findings).toEqual(none)
  })

  it('is refused by version 9 after the upgrade', async () => {
    const { target } = await openOld()
    await (await openStore(target)).close()
    if (target.startsWith('postgres')) {
      const pool = openPool(target)
      onTestFinished(() => pool.end())
      const opening = migrateDatabase(pool, postgresMigrations.slice(0, 9))
      await expect(opening).rejects.toBeInstanceOf(SchemaTooNewError)
    } else {
      const db = new BetterSqlite3(target)
      onTestFinished(() => void db.close())
      await expect(migrateFile(db, migrations.slice(0, 9))).rejects.toBeInstanceOf(SchemaTooNewError)
    }
  })
})

describe('a file of schema version 9 that cannot be written', () => {
  it('is read without the upgrade', async () => {
    const db = new BetterSqlite3(oldFile(), { readonly: true })
    onTestFinished(() => void db.close())
    const store = await sqliteStore(db)
    expect(await store.schemaVersion()).toBe(9)
    const [old] = await idsOf(store)
    expect((await textOf(store, old!)) === oldLargeText).toBe(true)
    expect((await store.readBlob(hash)).length).toBe(oldLargeText.length)
    const seen: string[] = []
    await store.verify({ onFinding: ({ what }) => seen.push(what) })
    expect(seen.filter(what => !/(skein|sqlite)_.*blob.* is missing in the file/.test(what))).toEqual([])
  })

  it('takes deletions and ordinary blobs once it can be, and refuses a blob in parts', async () => {
    const db = new BetterSqlite3(oldFile())
    onTestFinished(() => void db.close())
    const pages = db.pragma('page_count', { simple: true }) as number
    db.pragma(`max_page_count = ${pages}`)
    const store = await sqliteStore(db, { indexing: 'manual' })
    db.pragma('max_page_count = 100000')
    expect(await store.schemaVersion()).toBe(9)
    const [old] = await idsOf(store)
    const { branch } = await store.create()
    await expect(store.append(branch, null, [{ role: 'user', content: newText }])).rejects.toBeInstanceOf(
      ReadOnlyError,
    )
    const { head } = await store.append(branch, null, [
      { role: 'user', content: newText.slice(0, 1_000_000) },
    ])
    expect(await textOf(store, head)).toHaveLength(1_000_000)
    expect((await store.deleteMessages([old!], { recursive: true })).deleted).toBe(2)
    await expect(store.readBlob(hash)).rejects.toMatchObject({ code: 'not_found' })
  })
})
