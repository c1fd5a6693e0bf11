import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { BranchInConversation, Store } from '../../../src/core/ports.ts'
import { openSqliteStore, sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { migrateFile, schemaVersion } from '../../../src/stores/sqlite/migrate.ts'
import { migrations } from '../../../src/stores/sqlite/migrations.ts'
import { say, startConversation } from '../../../src/testing/contract/build.ts'
import { unpackSqlite } from '../../released/released.ts'
import { startWorker, type Worker } from '../../support/workers.ts'

let folder: string
let file: string
const closing: (() => unknown)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'files-'))
  file = join(folder, 'store', 'conversations.db')
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  for (const path of [folder, join(folder, 'store'), join(folder, 'copy')]) {
    if (existsSync(path)) chmodSync(path, 0o700)
  }
  rmSync(folder, { recursive: true, force: true })
})

async function open(path = file): Promise<Store> {
  const store = await openSqliteStore(path)
  closing.push(() => store.close())
  return store
}

const modeOf = (path: string) => statSync(path).mode & 0o777

/** The uid of the unprivileged user on most machines. Any user that owns nothing here will do. */
const stranger = 65534

let worker: Worker | undefined
afterAll(() => worker?.kill())

const isRoot = process.getuid?.() === 0

/** A process that respects file modes. Root does not, so it continues as another user. */
async function startBound(): Promise<Worker> {
  if (!worker) {
    worker = await startWorker()
    if (isRoot) await worker.become(stranger)
  }
  return worker
}

describe('the files of a store', () => {
  it('are readable by their owner only, whatever the umask, and so are new folders', async () => {
    const before = process.umask(0)
    try {
      const store = await open(join(folder, 'a', 'b', 'conversations.db'))
      await startConversation(store)
    } finally {
      process.umask(before)
    }
    expect(modeOf(join(folder, 'a'))).toBe(0o700)
    expect(modeOf(join(folder, 'a', 'b'))).toBe(0o700)
    const files = readdirSync(join(folder, 'a', 'b')).sort()
    expect(files).toEqual(['conversations.db', 'conversations.db-shm', 'conversations.db-wal'])
    for (const name of files) expect(modeOf(join(folder, 'a', 'b', name)), name).toBe(0o600)
  })

  it('keep the modes they had before', async () => {
    mkdirSync(join(folder, 'store'))
    chmodSync(join(folder, 'store'), 0o770)
    writeFileSync(file, '')
    chmodSync(file, 0o660)
    await startConversation(await open())
    expect(modeOf(join(folder, 'store'))).toBe(0o770)
    expect(modeOf(file)).toBe(0o660)
  })

  // Another program may remove the write-ahead log of a file that no process has locked, and what was written
  // since then is lost: SQLite before 3.51 does so when it closes the file.
  it.runIf(existsSync('/proc/locks'))('stay locked when the same process opens them again', async () => {
    const locks = () => {
      const { ino } = statSync(file)
      const lines = readFileSync('/proc/locks', 'utf8').split('\n')
      return lines.filter(line => line.includes(` ${process.pid} `) && line.includes(`:${ino} `)).length
    }
    await open()
    const before = locks()
    expect(before).toBeGreaterThan(0)
    const again = await open()
    expect(locks()).toBe(before)
    await again.close()
    expect(locks()).toBe(before)
  })

  it('cannot be read by another user, even if the folder can be entered', async context => {
    if (!isRoot) context.skip('only root can start a process of another user')
    const store = await open()
    await startConversation(store)
    chmodSync(folder, 0o755)
    const other = await startBound()
    await expect(other.open(file)).rejects.toMatchObject({ code: 'misconfigured' })
    chmodSync(join(folder, 'store'), 0o755)
    await expect(other.open(file)).rejects.toMatchObject({ code: 'misconfigured' })
    await store.close()
    chmodSync(file, 0o644)
    await other.open(file)
  })
})

describe('a store that cannot be written', () => {
  /** Reads work, writes throw ReadOnlyError, and the process survives. */
  async function expectReadable(store: Store, place: BranchInConversation, head: MessageId): Promise<void> {
    const { id } = place.conversation
    expect((await store.listConversations()).items.map(item => item.id)).toEqual([id])
    expect(await store.getBranch(place.branch)).toMatchObject({ head })
    expect(await pathOf(store, head)).toHaveLength(3)
    expect((await store.listMessages({ conversationId: id })).items).toHaveLength(3)
    expect(await collectPages(page => store.listStretches(id, page))).toHaveLength(1)
    expect((await store.search('two')).items).toHaveLength(1)
    expect(await store.findOrCreate('known')).toMatchObject({ created: false })
    expect(await store.schemaVersion()).toBe(migrations.at(-1)!.version)
    const refused = { name: 'ReadOnlyError', code: 'read_only' }
    await expect(store.create()).rejects.toMatchObject(refused)
    await expect(store.findOrCreate('unknown')).rejects.toMatchObject(refused)
    await expect(store.trash(id)).rejects.toMatchObject(refused)
    // More writes than between two looks at the log.
    for (let i = 0; i < 60; i++) {
      await expect(store.append(place.branch, head, [say('x')])).rejects.toMatchObject(refused)
    }
    expect(await pathOf(store, head)).toHaveLength(3)
  }

  async function fill(): Promise<{ store: Store; place: BranchInConversation; head: MessageId }> {
    const store = await open()
    const { ids, ...place } = await startConversation(store, { key: 'known' })
    await store.indexSearch()
    return { store, place, head: ids[2] }
  }

  const cases = [
    { what: 'file', modes: [0o444, 0o777], owner: 'gone' },
    { what: 'file', modes: [0o444, 0o777], owner: 'there' },
    { what: 'folder', modes: [0o666, 0o555], owner: 'gone' },
    { what: 'folder and file', modes: [0o444, 0o555], owner: 'gone' },
    { what: 'folder and file', modes: [0o444, 0o555], owner: 'there' },
  ] as const
  for (const { what, modes, owner } of cases) {
    it(`can be read if another user may not write the ${what}, with owner ${owner}`, async () => {
      const { store, place, head } = await fill()
      if (owner === 'gone') await store.close()
      const home = join(folder, 'store')
      for (const name of readdirSync(home)) chmodSync(join(home, name), modes[0])
      chmodSync(home, modes[1])
      chmodSync(folder, 0o755)
      const other = await startBound()
      await other.open(file)
      await expectReadable(other.store, place, head)
    })
  }

  it('is read without an optional migration if it has an older version', async () => {
    expect(migrations.slice(1).every(one => one.isOptional)).toBe(true)
    mkdirSync(join(folder, 'store'))
    unpackSqlite(1, file)
    chmodSync(file, 0o444)
    chmodSync(join(folder, 'store'), 0o555)
    chmodSync(folder, 0o755)
    const { store, open } = await startBound()
    await open(file)
    expect(await store.schemaVersion()).toBe(1)
    const { items } = await store.listConversations({ limit: 100 })
    expect(items.length).toBeGreaterThan(0)
    const labelled = items.filter(({ label }) => label !== null).length
    expect(await store.countConversations({ labelPrefix: '' })).toBe(labelled)
    await expect(store.create()).rejects.toMatchObject({ code: 'read_only' })
    await expect(store.findToken('0'.repeat(64))).rejects.toMatchObject({ code: 'read_only' })
  })

  it('is read without an optional migration if the disk is full', async () => {
    mkdirSync(join(folder, 'store'))
    unpackSqlite(1, file)
    const db = new BetterSqlite3(file)
    db.exec('VACUUM')
    db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`)
    const needed = { version: 2, name: 'needed', sql: 'CREATE TABLE skein_more (x)' }
    await expect(migrateFile(db, [migrations[0]!, needed])).rejects.toMatchObject({ code: 'SQLITE_FULL' })
    await migrateFile(db)
    expect(schemaVersion(db)).toBe(1)
    db.close()
    expect(await (await open()).schemaVersion()).toBe(migrations.at(-1)!.version)
  })

  it('is reported if the file does not exist yet', async () => {
    chmodSync(folder, 0o555)
    const other = await startBound()
    const [deep, flat] = [join(folder, 'new', 'x.db'), join(folder, 'x.db')]
    await expect(other.open(deep)).rejects.toMatchObject({ code: 'misconfigured' })
    await expect(other.open(deep)).rejects.toThrow(`cannot create ${join(folder, 'new')}: permission denied`)
    await expect(other.open(flat)).rejects.toThrow(`cannot open or create ${flat}: permission denied`)
    expect(readdirSync(folder)).toEqual([])
  })

  it('is not considered complete while an unusable log next to it holds a part of it', async () => {
    await fill()
    const copy = join(folder, 'copy')
    mkdirSync(copy)
    // As a copy of the two relevant files on a read-only medium.
    for (const suffix of ['', '-wal']) {
      copyFileSync(file + suffix, join(copy, `a.db${suffix}`))
      chmodSync(join(copy, `a.db${suffix}`), 0o444)
    }
    chmodSync(copy, 0o555)
    chmodSync(folder, 0o755)
    const other = await startBound()
    await expect(other.open(join(copy, 'a.db'))).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('a full disk', () => {
  /** A store whose file may not grow by more than `pages`. */
  async function openLimited(pages: number): Promise<{ db: Database; store: Store }> {
    const db = new BetterSqlite3(join(folder, 'limited.db'))
    closing.push(() => db.close())
    db.pragma('journal_mode = WAL')
    const store = await sqliteStore(db)
    const used = db.pragma('page_count', { simple: true }) as number
    db.pragma(`max_page_count = ${used + pages}`)
    return { db, store }
  }

  it('throws StorageFullError, keeps acknowledged data and works again after space is freed', async () => {
    const { db, store } = await openLimited(60)
    const { branch } = await store.create()
    let head: MessageId | null = null
    let acknowledged = 0
    const text = 'x'.repeat(3_000)
    const fillUp = async () => {
      for (;;) {
        head = (await store.append(branch, head, [say(text), say(text, 'assistant')])).head
        acknowledged += 2
      }
    }
    await expect(fillUp()).rejects.toMatchObject({ name: 'StorageFullError', code: 'storage_full' })
    expect(acknowledged).toBeGreaterThan(10)
    expect(db.inTransaction).toBe(false)
    expect(await pathOf(store, head!)).toHaveLength(acknowledged)
    expect(await store.getConversation(branch.conversationId)).toMatchObject({ messages: acknowledged })
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')

    db.pragma('max_page_count = 100000')
    await store.append(branch, head, [say('there is space again')])
    expect(await store.getConversation(branch.conversationId)).toMatchObject({ messages: acknowledged + 1 })
  })

  it('leaves nothing of a blob that did not fit', async () => {
    const { db, store } = await openLimited(40)
    const { branch } = await store.create()
    const large = store.append(branch, null, [say('before'), say('x'.repeat(400_000))])
    await expect(large).rejects.toMatchObject({ code: 'storage_full' })
    for (const table of ['messages', 'blobs', 'blob_refs', 'turns']) {
      expect(db.prepare(`SELECT count(*) FROM skein_${table}`).pluck().get(), table).toBe(0)
    }
  })
})

describe('a file that is not a store', () => {
  it.each([
    ['garbage', Buffer.from('this is not a database, but long enough to be read as one. '.repeat(40))],
    [
      'a header and nothing behind it',
      Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4_080)]),
    ],
    ['a few bytes', Buffer.from('hello')],
  ])('throws CorruptError: %s', async (_, bytes) => {
    mkdirSync(join(folder, 'store'))
    writeFileSync(file, bytes)
    await expect(open()).rejects.toMatchObject({ name: 'CorruptError', code: 'corrupt' })
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })

  it('throws CorruptError for a damaged page and still reads the rest', async () => {
    const store = await open()
    const { conversation } = await startConversation(store)
    await store.close()
    const bytes = readFileSync(file)
    const db = new BetterSqlite3(file)
    const page = db.prepare(`SELECT rootpage FROM sqlite_master WHERE name = 'skein_messages'`).pluck().get()
    db.close()
    bytes.fill(0x5a, ((page as number) - 1) * 4_096, (page as number) * 4_096)
    writeFileSync(file, bytes)
    const damaged = await open()
    expect(await damaged.getConversation(conversation.id)).toMatchObject({ messages: 3 })
    const read = damaged.listMessages({ conversationId: conversation.id })
    await expect(read).rejects.toMatchObject({ name: 'CorruptError', code: 'corrupt' })
    await damaged.create()
  })

  it('throws CorruptError for a table that has changed, and reports it as damage', async () => {
    const store = await open()
    const { conversation } = await startConversation(store)
    await store.close()
    const db = new BetterSqlite3(file)
    db.exec('ALTER TABLE skein_turns RENAME COLUMN status TO stctus')
    db.close()
    const changed = await open()
    await expect(changed.listTurns(conversation.id)).rejects.toMatchObject({
      code: 'corrupt',
      message: `${file} has damaged or changed tables: no such column: status`,
      hint: `Try: skein recover ${file}`,
    })
    const findings: string[] = []
    await changed.verify({ onFinding: ({ what }) => findings.push(what) })
    expect(findings.join('\n')).toContain('no such column: status')
  })

  it('is refused with the name of the table if another program made one of its tables (L5)', async () => {
    mkdirSync(join(folder, 'store'))
    for (const table of ['skein_messages', 'skein_state']) {
      const db = new BetterSqlite3(join(folder, `${table}.db`))
      db.exec(`CREATE TABLE ${table} (id INTEGER)`)
      await expect(sqliteStore(db)).rejects.toMatchObject({
        name: 'MisconfiguredError',
        code: 'misconfigured',
        part: 'tables',
        hint: 'Rename that table, or use another file',
      })
      db.close()
      const opened = open(join(folder, `${table}.db`))
      await expect(opened).rejects.toMatchObject({ code: 'misconfigured', part: 'tables' })
    }
    await expect(open(join(folder, 'skein_messages.db'))).rejects.toThrow('has a table skein_messages')
  })

  it('is refused if the path is a folder, or leads through a file', async () => {
    mkdirSync(file, { recursive: true })
    const cannot = { code: 'misconfigured', part: 'path' }
    await expect(open()).rejects.toMatchObject({
      ...cannot,
      message: `cannot open ${file}: illegal operation on a directory`,
    })
    writeFileSync(join(folder, 'plain'), '')
    await expect(open(join(folder, 'plain', 'x.db'))).rejects.toMatchObject(cannot)
  })
})
