import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage, NonEmpty } from '../../src/core/message.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

const reader = join(import.meta.dirname, '../../examples/format-reader.mjs')
const place = mkdtempSync(join(tmpdir(), 'skein-reader-'))
const sound = join(place, 'sound.db')
afterAll(() => rmSync(place, { recursive: true }))

const say = (words: string): NewMessage => ({
  role: 'user',
  content: words,
  createdAt: new Date(1_767_225_600_000),
})
const image = Buffer.alloc(20_000, 'skein').toString('base64')

/** The reader's output for a file, and its exit code. */
function read(...args: string[]) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [reader, ...args], { encoding: 'utf8' })
  return { lines: `${stdout}${stderr}`.trim().split('\n'), status }
}

/** A copy of the intact file after these statements, which none of our drivers would run. */
function damaged(sql: string): string {
  const path = join(place, 'damaged.db')
  copyFileSync(sound, path)
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`)
  db.close()
  return path
}

/** Two conversations with forks, blobs, two roots with the same content, an erased and a deleted message. */
beforeAll(async () => {
  const store = await openSqliteStore(sound)
  const { conversation, branch } = await store.create()
  const { ids, head } = await store.append(branch, null, [
    say('one'),
    {
      role: 'assistant',
      content: [{ type: 'image', mime: 'image/png', data: image }],
      metadata: { $blob: 'mine' },
    },
    { role: 'tool', content: [{ type: 'tool_result', callId: 'c', output: 'x'.repeat(20_000) }] },
    say('grüße 👋 \0 \ud800'),
  ])
  const items: NonEmpty<{ message: NewMessage; parent: MessageId | null }> = [
    { message: say('one'), parent: null },
    { message: say('a fork'), parent: ids[1]! },
    { message: say('to be deleted'), parent: head },
  ]
  const saved = await store.save(conversation.id, items)
  await store.deleteMessages([saved[2]!])
  await store.eraseMessages([ids[0]], { by: 'anna', reason: 'a password' })
  const other = await store.create()
  await store.append(other.branch, null, [say('one')])
  await store.close()
})

describe('the reader of format 1', () => {
  it('agrees with the test vectors of docs/data-model.md', () => {
    expect(read()).toEqual({ lines: ['sound: 13 vectors of docs/data-model.md'], status: 0 })
  })

  it('accepts a file with erased and deleted messages, forks and blobs', () => {
    expect(read(sound)).toEqual({ lines: ['sound: 7 messages in 2 conversations, 2 blobs'], status: 0 })
  })

  it('agrees with verify that a wrong stored hash is repairable, and not damage', async () => {
    const path = damaged(`UPDATE skein_messages SET body_hash = zeroblob(32) WHERE seq = 4`)
    const { lines, status } = read(path)
    expect(status).toBe(0)
    expect(lines[0]).toMatch(/^repairable: .*message 4 .*: the stored hash is wrong, the body is right$/)
    expect(lines.at(-1)).toMatch(/^sound/)
    const store = await openSqliteStore(path, { indexing: 'manual' })
    const verified = await store.verify()
    expect(verified.findings).toMatchObject({ damage: 0, repairable: 1 })
    await store.close()
  })

  it.each([
    [
      'a letter of a body',
      `SET body = replace(body, 'one', 'onE') WHERE body LIKE '%one%' AND seq = 4`,
      'the body does not match its hash',
    ],
    ['a role', `SET role = 'assistant' WHERE seq = 3`, 'the id does not match parent, role, time and body'],
    ['a time', 'SET at = at + 1 WHERE seq = 3', 'the id does not match parent, role, time and body'],
    [
      'the hash of an erased body',
      'SET body_hash = zeroblob(32) WHERE seq = 0 AND body IS NULL',
      'the id does not match',
    ],
    ['a parent', 'SET parent_seq = 0 WHERE seq = 5', 'the id does not match parent, role, time and body'],
    [
      'a place between two conversations',
      'SET conv = 2, seq = 9, parent_seq = 0 WHERE conv = 1 AND seq = 5',
      'the id does not match',
    ],
    ['a missing body', 'SET body = NULL WHERE seq = 3', 'the body is missing, and the message is not erased'],
  ])('detects a change of %s', (_, change, words) => {
    const { lines, status } = read(damaged(`UPDATE skein_messages ${change}`))
    expect(status).toBe(1)
    expect(lines.join('\n')).toContain(words)
    expect(lines.at(-1)).toMatch(/^DAMAGED \(\d+ found\): 7 messages/)
  })

  it.each([
    ['a missing message', 'DELETE FROM skein_messages WHERE conv = 1 AND seq = 2', 'the parent is missing'],
    ['a missing blob', 'DELETE FROM skein_blobs WHERE size = 20000', 'is missing, or not of 20000 bytes'],
    [
      'other bytes in a blob',
      'UPDATE skein_blobs SET data = zeroblob(20000)',
      'the bytes do not match the hash',
    ],
    ['a wrong size', 'UPDATE skein_blobs SET size = 1', 'the size is wrong'],
  ])('detects %s', (_, sql, words) => {
    const { lines, status } = read(damaged(sql))
    expect(status).toBe(1)
    expect(lines.join('\n')).toContain(words)
  })

  it('reads the parts of a large blob, and detects a missing one and one too many', async () => {
    const path = join(place, 'parts.db')
    const store = await openSqliteStore(path)
    const { branch } = await store.create()
    await store.append(branch, null, [say('0123456789abcdef'.repeat(330_000))])
    await store.close()
    expect(read(path)).toEqual({ lines: ['sound: 1 messages in 1 conversations, 1 blobs'], status: 0 })
    const changes = [
      `INSERT INTO skein_blob_parts SELECT hash, 9, x'00' FROM skein_blobs`,
      'DELETE FROM skein_blob_parts WHERE part IN (1, 9)',
    ]
    for (const sql of changes) {
      const db = new DatabaseSync(path)
      db.exec(sql)
      db.close()
      const { lines, status } = read(path)
      expect([status, lines.join()]).toEqual([1, expect.stringContaining('do not match the hash')])
    }
  })

  it('accepts a conversation that is being purged', () => {
    const path = damaged(
      'UPDATE skein_conversations SET trashed_at = 1, purging = 1 WHERE c = 1; DELETE FROM skein_messages WHERE conv = 1 AND seq < 2',
    )
    expect(read(path)).toMatchObject({ status: 0 })
  })

  it('detects a flipped bit in the file itself', () => {
    const bytes = readFileSync(sound)
    const at = bytes.indexOf('a fork')
    bytes[at] = bytes[at]! ^ 1
    const path = join(place, 'flipped.db')
    writeFileSync(path, bytes)
    expect(read(path)).toMatchObject({ status: 1 })
  })

  it.each([
    ['does not exist', () => join(place, 'nothing.db'), 'unable to open'],
    ['is not a database', () => reader, 'file is not a database'],
  ])('reports a file that %s', (_, path, words) => {
    const { lines, status } = read(path())
    expect(status).toBe(1)
    expect(lines.join('\n')).toContain(words)
  })
})
