import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MessageId, Store } from '../../../src/index.ts'
import { openSqliteStore, sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { removals, type Told, tell, why } from '../told.ts'

// The bytes of the files are read as a thief of the disk would read them.

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'traces-'))
  file = join(folder, 'conversations.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** The files that contain one of these words, in any case: the search index folds letters. */
function filesWith(words: readonly string[]): string[] {
  const files = ['', '-wal'].map(end => `${file}${end}`).filter(path => existsSync(path))
  return files.filter(path => {
    const bytes = readFileSync(path, 'latin1').toLowerCase()
    return words.some(word => bytes.includes(word.toLowerCase()))
  })
}

/** A number as letters: the tokenizer splits words at digits. */
function letters(n: number): string {
  return String.fromCharCode(98 + (n % 20)) + String.fromCharCode(98 + Math.floor(n / 20))
}

/** Other conversations around it, so that pages are shared and merged. */
async function fill(store: Store, count: number): Promise<void> {
  for (let c = 0; c < count; c++) {
    const { branch } = await store.create()
    const messages = Array.from({ length: 6 }, (_, i) => ({
      role: 'user' as const,
      content: `kept ${c} ${i} ${'words '.repeat(((c * 7 + i) * 13) % 200)}`,
    }))
    await store.append(branch, null, messages)
    if (c % 5 === 0) await store.indexSearch()
  }
}

describe.each(Object.entries(removals))('%s', (name, remove) => {
  it.each([
    ['with the store open', false],
    ['after the store was closed', true],
  ])('removes the words from the bytes of the file and its log, %s', async (_, close) => {
    const store = await openSqliteStore(file)
    try {
      await fill(store, 10)
      const told = await tell(store, `${name}One`)
      await fill(store, 10)
      await store.search('anything')
      expect(filesWith(told.words)).not.toEqual([])
      const { remains } = await remove(store, told)
      expect(remains).toEqual(['backups'])
      if (close) await store.close()
      expect(filesWith(told.words)).toEqual([])
    } finally {
      await store.close()
    }
  })

  it('removes the words from a file whose free space was not overwritten so far', async () => {
    const db = new BetterSqlite3(file)
    const told = await tell(await sqliteStore(db), `${name}Old`)
    db.close()
    await using store = await openSqliteStore(file)
    await store.search('anything')
    expect((await remove(store, told)).remains).toEqual(['backups'])
    expect(filesWith(told.words)).toEqual([])
  })

  it('removes words that no search has indexed yet', async () => {
    await using store = await openSqliteStore(file)
    const told = await tell(store, `${name}Two`)
    await remove(store, told)
    expect(filesWith(told.words)).toEqual([])
  })

  it('removes the words from a large file, and says what may remain', async () => {
    await using store = await openSqliteStore(file, { durability: 'normal' })
    const told = await tell(store, `${name}Big`)
    const { branch } = await store.create()
    await store.append(branch, null, [{ role: 'user', content: 'large '.repeat(3_000_000) }])
    await store.search('anything')
    expect(statSync(file).size).toBeGreaterThan(16 * 1024 * 1024)
    const { remains } = await remove(store, told)
    expect(remains).toEqual(['file', 'backups'])
    expect(filesWith(told.words)).toEqual([])
    const compacted = await store.compact()
    expect(compacted.remains).toEqual(['backups'])
    expect(statSync(file).size).toBe(compacted.bytesAfter)
  })

  it('removes the words from the parts of a large blob', async () => {
    await using store = await openSqliteStore(file, { durability: 'normal' })
    const { conversation, branch } = await store.create()
    // In the first part, and in the last one.
    const word = `parted${name}`
    const content = `${word} ${'large '.repeat(750_000)}${word}`
    const { ids } = await store.append(branch, null, [{ role: 'user', content }])
    expect(filesWith([word])).not.toEqual([])
    const { remains } = await remove(store, { id: conversation.id, ids, words: [word] })
    expect(remains).toEqual(['backups'])
    expect(filesWith([word])).toEqual([])
  })

  it('says that the log remains while another process reads it, and removes it later', async () => {
    await using store = await openSqliteStore(file)
    const told = await tell(store, `${name}Held`)
    const reader = new BetterSqlite3(file)
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM skein_messages').get()
    const { remains } = await remove(store, told)
    expect(remains).toEqual(['log', 'backups'])
    reader.close()
    expect((await store.compact()).remains).toEqual(['backups'])
    expect(filesWith(told.words)).toEqual([])
  })

  it.each([
    ['OFF', 0],
    ['ON', 1],
  ])('says that a borrowed handle may leave bytes, with secure_delete %s', async (setting, value) => {
    const db = new BetterSqlite3(file)
    db.pragma('journal_mode = WAL')
    db.pragma(`secure_delete = ${setting}`)
    db.exec('CREATE TABLE own (word TEXT)')
    db.exec("INSERT INTO own (rowid, word) VALUES (17, 'mine')")
    try {
      const store = await sqliteStore(db)
      const told = await tell(store, `${name}Lent`)
      await store.search('anything')
      const { remains } = await remove(store, told)
      expect(remains).toEqual(['file', 'backups'])
      if (value === 1) expect(filesWith(told.words)).toEqual([])
      expect(db.pragma('secure_delete', { simple: true })).toBe(value)
      expect(db.prepare('SELECT rowid, word FROM own').all()).toEqual([{ rowid: 17, word: 'mine' }])
      expect((await store.compact()).remains).toEqual(['backups'])
      expect(filesWith(told.words)).toEqual([])
    } finally {
      db.close()
    }
  })
})

describe('removing traces', () => {
  it('removes every erased message of many, in random order', async () => {
    await using store = await openSqliteStore(file, { durability: 'normal' })
    const words = new Map<MessageId, string>()
    for (let c = 0; c < 20; c++) {
      const { branch } = await store.create()
      const said = Array.from(
        { length: 20 },
        (_, i) => `${letters(c)}q${letters(i)}zzend ${'filler '.repeat((c * i * 31) % 90)}`,
      )
      const messages = said.map(content => ({ role: 'user' as const, content }))
      const { ids } = await store.append(branch, null, messages)
      for (const [i, id] of ids.entries()) words.set(id, said[i]!.split(' ')[0]!)
      if (c % 3 === 0) await store.indexSearch()
    }
    await store.indexSearch()
    const chosen = [...words].filter((_, i) => (i * 7) % 5 < 3).toSorted(([a], [b]) => (a < b ? -1 : 1))
    for (let i = 0; i < chosen.length; i += 40) {
      const some = chosen.slice(i, i + 40)
      await store.eraseMessages(
        some.map(([id]) => id),
        why,
      )
    }
    expect(chosen.filter(([, word]) => filesWith([`${word} `]).length > 0)).toEqual([])
    expect((await store.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
  })

  it('shares one pass between deletions at the same time', async () => {
    await using store = await openSqliteStore(file)
    const told: Told[] = []
    for (let n = 0; n < 8; n++) told.push(await tell(store, `same${n}n`))
    await store.search('anything')
    await Promise.all(told.map(one => removals.eraseMessages(store, one)))
    expect(filesWith(told.flatMap(one => one.words))).toEqual([])
  })

  it('says that everything may remain inside a transaction of the owner of the handle', async () => {
    const db = new BetterSqlite3(file)
    try {
      const store = await sqliteStore(db)
      const told = await tell(store, 'inside')
      db.exec('BEGIN')
      const { remains } = await removals.eraseMessages(store, told)
      expect(remains).toEqual(['file', 'log', 'backups'])
      db.exec('COMMIT')
      await expect(store.compact()).resolves.toMatchObject({ remains: ['backups'] })
      expect(filesWith(told.words)).toEqual([])
    } finally {
      db.close()
    }
  })

  it('sweeps the words of purged conversations', async () => {
    let now = Date.UTC(2026, 10, 1)
    const source = { now: () => now, uuid: () => crypto.randomUUID() }
    await using store = await openSqliteStore(file, { source })
    const told = await tell(store, 'purgedBySweep')
    await store.search('anything')
    await store.trash(told.id)
    for (let day = 0; day < 9; day++) {
      now += 86_000_000
      const { purged, remains } = await store.sweep()
      expect(remains).toEqual(purged.length > 0 ? ['backups'] : [])
    }
    expect(filesWith(told.words)).toEqual([])
  })
})
