import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { StoreRecord, UnreadableRecord } from '../../../src/core/record.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { recordsOf } from '../../formats/native-file.ts'
import { type Everything, fillWithEverything, steadySource } from '../everything.ts'

let folder: string
let file: string
let sample: Everything
let truth: readonly StoreRecord[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'moving-damage-'))
  file = join(folder, 'a.db')
  await using store = await openSqliteStore(file, { source: steadySource() })
  sample = await fillWithEverything(store)
  truth = await recordsOf(store, sample.ids)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** The readable records of each conversation after a change to the file. */
async function readAfter(...sql: readonly string[]): Promise<(StoreRecord | UnreadableRecord)[]> {
  const db = new BetterSqlite3(file)
  db.pragma('foreign_keys = OFF')
  db.pragma('ignore_check_constraints = ON')
  for (const one of sql) db.exec(one)
  db.close()
  await using store = await openSqliteStore(file)
  const pieces: (StoreRecord | UnreadableRecord)[] = []
  for (const id of sample.ids) for await (const piece of store.readRecords(id)) pieces.push(piece)
  return pieces
}

const told = (pieces: readonly (StoreRecord | UnreadableRecord)[]) =>
  pieces.flatMap(piece => (piece.kind === 'unreadable' ? [`${piece.what}: ${piece.reason}`] : []))

it('reading records reports missing and inconsistent data and returns the rest (P5)', async () => {
  const talk = `(SELECT c FROM skein_conversations WHERE id = '${sample.talk}')`
  const pieces = await readAfter(
    `DELETE FROM skein_messages WHERE conv = ${talk} AND seq = 4`,
    `UPDATE skein_turns SET usage = '{' WHERE conv = ${talk} AND key = 'turn-1'`,
    `UPDATE skein_events SET data = 'x' WHERE conv = ${talk} AND n = 1`,
    `DELETE FROM skein_blobs WHERE hash = (SELECT min(hash) FROM skein_blobs)`,
    `UPDATE skein_messages SET erased = '?', body = NULL WHERE conv = ${talk} AND seq = 0`,
  )
  const reasons = told(pieces)
  expect(reasons).toHaveLength(5)
  expect(reasons[0]).toMatch(/^message at seq 0: /)
  expect(reasons[1]).toBe('message at seq 5: its parent, at seq 4, is missing')
  expect(reasons[2]).toMatch(/^turn "turn-1": /)
  expect(reasons[3]).toMatch(/^event 1: /)
  expect(reasons[4]).toMatch(/^blob [0-9a-f]{64}: it is missing$/)
  const others = truth.filter(record => 'conversationId' in record && record.conversationId !== sample.talk)
  for (const record of others) expect(pieces).toContainEqual(record)
})

it('a lost page costs only the records on it', async () => {
  const db = new BetterSqlite3(file)
  db.pragma('wal_checkpoint(TRUNCATE)')
  const size = db.pragma('page_size', { simple: true }) as number
  // A leaf of the table of messages, with their bodies.
  const page = db
    .prepare(`SELECT max(pageno) FROM dbstat WHERE name = 'skein_messages' AND pagetype = 'leaf'`)
    .pluck()
    .get() as number | null
  db.close()
  expect(page).not.toBeNull()
  const { openSync, writeSync, closeSync } = await import('node:fs')
  const fd = openSync(file, 'r+')
  writeSync(fd, Buffer.alloc(size), 0, size, (page! - 1) * size)
  closeSync(fd)
  const pieces = await readAfter()
  const reasons = told(pieces)
  const lost = reasons.filter(reason => /^message at seq \d+: /.test(reason))
  expect(lost.length).toBeGreaterThan(0)
  // Turns and tombstones name messages: those that name a lost one cannot be read either.
  expect(reasons.filter(reason => !/^(message|tombstone|turn) /.test(reason))).toEqual([])
  const count = (list: readonly (StoreRecord | UnreadableRecord)[], kind: string) =>
    list.filter(one => one.kind === kind).length
  expect(count(pieces, 'message')).toBeGreaterThan(0)
  expect(count(pieces, 'message') + lost.length).toBe(count(truth, 'message'))
  expect(count(pieces, 'turn')).toBeGreaterThan(0)
  for (const kind of ['conversation', 'branch', 'summary', 'event', 'agent_link', 'draft']) {
    expect(pieces.filter(one => one.kind === kind)).toEqual(truth.filter(one => one.kind === kind))
  }
})
