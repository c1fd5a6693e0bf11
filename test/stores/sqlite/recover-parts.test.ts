import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { contentOf } from '../../../src/core/message.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { recoverFile } from '../../../src/stores/sqlite/recover/recover-file.ts'

const large = (word: string) => `${word} ${'0123456789abcdef'.repeat(330_000)}`
const intact = { lost: 0, emptied: 0, rehung: 0, other: 0 }

it.each([
  ['everything is there', 'SELECT 1', intact],
  // Its parts are enough: they match the hash.
  ['the row of a large blob is lost', 'DELETE FROM skein_blobs WHERE data = zeroblob(0) LIMIT 1', intact],
  ['a part is lost', 'DELETE FROM skein_blob_parts WHERE part = 2 LIMIT 1', { ...intact, emptied: 1 }],
  [
    'a part has changed',
    `UPDATE skein_blob_parts SET data = zeroblob(9) WHERE rowid = 2`,
    { ...intact, emptied: 1 },
  ],
])('recovers large blobs if %s', async (_, damage, losses) => {
  const folder = mkdtempSync(join(tmpdir(), 'recover-parts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'damaged.db')
  const words = ['one', 'two', 'small']
  {
    await using store = await openSqliteStore(file, { indexing: 'manual' })
    const { branch } = await store.create({ key: 'k' })
    await store.append(branch, null, [
      { role: 'user', content: large('one') },
      { role: 'user', content: large('two') },
      { role: 'user', content: `small ${'x'.repeat(20_000)}` },
    ])
  }
  const db = new BetterSqlite3(file)
  db.pragma('foreign_keys = OFF')
  // Damage does not run triggers, and SQLite is built without LIMIT for DELETE.
  db.exec('DROP TRIGGER skein_blobs_deleted')
  db.exec(
    damage.replace(
      /DELETE FROM (\w+) WHERE (.*) LIMIT 1/,
      'DELETE FROM $1 WHERE rowid = (SELECT min(rowid) FROM $1 WHERE $2)',
    ),
  )
  db.close()
  await using target = await openSqliteStore(':memory:')
  const result = await recoverFile(file, target)
  expect(result.losses).toEqual(losses)
  const { branch } = (await target.findByKey('k'))!
  const { messages } = await target.tail(branch.head!, { messages: 3 })
  const read = messages.map(one => (one.erased ? 'emptied' : String(contentOf(one)).split(' ')[0]))
  expect(read.filter(word => word === 'emptied')).toHaveLength(losses.emptied)
  expect(read.filter(word => words.includes(word!))).toHaveLength(3 - losses.emptied)
  const [first] = messages
  if (!first!.erased) expect(contentOf(first!) === large('one')).toBe(true)
  expect((await target.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
})
