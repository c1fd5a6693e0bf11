import { hash, randomBytes } from 'node:crypto'
import BetterSqlite3 from 'better-sqlite3'
import type { Contender, Durability } from './contender.ts'
import type { WorkMessage, WorkTurn } from './workload.ts'

/** Hand-written SQL for one application: WAL, prepared statements, blocks in one JSON column, a check of the
 *  head, and nothing that a conversation without branches and search does not need. */

const schema = `
CREATE TABLE IF NOT EXISTS conversations (
  c INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT, head TEXT, last_seq INTEGER NOT NULL, messages INTEGER NOT NULL,
  tokens INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS conversations_recent ON conversations(updated_at);
CREATE TABLE IF NOT EXISTS messages (
  id TEXT PRIMARY KEY, conversation INTEGER NOT NULL, seq INTEGER NOT NULL, parent TEXT, role TEXT NOT NULL,
  at INTEGER NOT NULL, tokens INTEGER NOT NULL, turn TEXT NOT NULL, blocks TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS messages_seq ON messages(conversation, seq);
CREATE TABLE IF NOT EXISTS turns (
  key TEXT PRIMARY KEY, conversation INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  status TEXT NOT NULL, model TEXT, usage TEXT, at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS branches (
  conversation INTEGER NOT NULL, name TEXT NOT NULL, head TEXT NOT NULL, created_at INTEGER NOT NULL,
  PRIMARY KEY (conversation, name)) WITHOUT ROWID;
`

const sql = {
  create: `INSERT INTO conversations VALUES (NULL, ?, ?, NULL, 0, 0, 0, ?, ?)`,
  head: `SELECT c, head, last_seq FROM conversations WHERE id = ?`,
  message: `INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  turn: `INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  grow: `
    UPDATE conversations SET head = ?, last_seq = ?, messages = messages + ?, tokens = tokens + ?, updated_at = ?
    WHERE c = ?`,
  load: `
    SELECT m.id, m.seq, m.parent, m.role, m.at, m.tokens, m.turn, m.blocks
    FROM conversations c JOIN messages m ON m.conversation = c.c WHERE c.id = ? ORDER BY m.seq`,
  loadFew: `
    SELECT m.id, m.parent, m.role, m.at, m.blocks
    FROM conversations c JOIN messages m ON m.conversation = c.c WHERE c.id = ? ORDER BY m.seq`,
  tail: `
    SELECT m.id, m.seq, m.parent, m.role, m.at, m.tokens, m.turn, m.blocks
    FROM conversations c JOIN messages m ON m.conversation = c.c WHERE c.id = ? ORDER BY m.seq DESC LIMIT 40`,
  list: `
    SELECT id, title, messages, tokens, created_at, updated_at FROM conversations
    ORDER BY updated_at DESC LIMIT 20`,
  fork: `INSERT INTO branches SELECT conversation, ?, id, ? FROM messages WHERE id = ?`,
}

interface Head {
  readonly c: number
  readonly head: string | null
  readonly last_seq: number
}

interface Row {
  readonly id: string
  readonly seq: number
  readonly parent: string | null
  readonly role: string
  readonly at: number
  readonly tokens: number
  readonly turn: string
  readonly blocks: string
}

export function openFloor(file: string, durability: Durability, ids: 'time' | 'hash'): Contender {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${durability}`)
  db.exec(schema)
  const prepared = Object.fromEntries(
    Object.entries(sql).map(([name, text]) => [name, db.prepare(text)]),
  ) as Record<keyof typeof sql, BetterSqlite3.Statement>
  const makeId = ids === 'time' ? timeId : hashId
  const insert = db.transaction(store).immediate

  return {
    beginBulk: () => db.exec('BEGIN'),
    endBulk: () => db.exec('COMMIT'),
    create: (id, title) => {
      const now = Date.now()
      prepared.create.run(id, title, now, now)
    },
    head: async id => (prepared.head.get(id) as Head).head,
    append: (id, head, turn) => (db.inTransaction ? store(id, head, turn) : insert(id, head, turn)),
    load: id => (prepared.load.all(id) as Row[]).map(messageOf).length,
    loadFew: id =>
      (prepared.loadFew.all(id) as Row[]).map(row => ({
        id: row.id,
        parentId: row.parent,
        role: row.role,
        createdAt: new Date(row.at),
        content: JSON.parse(row.blocks) as unknown,
      })).length,
    tail: id => (prepared.tail.all(id) as Row[]).map(messageOf).reverse().length,
    list: () =>
      (prepared.list.all() as { created_at: number; updated_at: number }[]).map(row => ({
        ...row,
        createdAt: new Date(row.created_at),
        updatedAt: new Date(row.updated_at),
      })).length,
    fork: (_, at, name) => {
      prepared.fork.run(name, Date.now(), at)
    },
    close: () => {
      db.close()
    },
  }

  function store(id: string, head: string | null, turn: WorkTurn): string {
    const { c, head: found, last_seq } = prepared.head.get(id) as Head
    if (found !== head) throw new Error('conflict')
    const now = Date.now()
    let seq = last_seq
    let parent = head
    let total = 0
    for (const message of turn.messages) {
      const blocks = JSON.stringify(message.content)
      const tokens = Math.ceil(blocks.length / 4)
      const next = makeId(parent, message, now, blocks)
      prepared.message.run(next, c, ++seq, parent, message.role, now, tokens, turn.key, blocks)
      parent = next
      total += tokens
    }
    const added = turn.messages.length
    const usage = JSON.stringify(turn.usage)
    prepared.turn.run(turn.key, c, seq - added + 1, seq, 'complete', turn.model, usage, now)
    prepared.grow.run(parent, seq, added, total, now, c)
    return parent!
  }
}

function messageOf(row: Row) {
  return {
    id: row.id,
    seq: row.seq,
    parentId: row.parent,
    role: row.role,
    createdAt: new Date(row.at),
    tokens: row.tokens,
    turn: row.turn,
    blocks: JSON.parse(row.blocks) as unknown,
  }
}

let counter = 0
const thisProcess = randomBytes(5).toString('hex')

/** Ordered by time, so the index grows only at its right edge. */
function timeId(): string {
  counter = (counter + 1) % 1_679_616
  return `${Date.now().toString(36).padStart(9, '0')}${counter.toString(36).padStart(4, '0')}${thisProcess}`
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
const pairs = Array.from({ length: 1_024 }, (_, n) => `${alphabet[n >> 5]}${alphabet[n & 31]}`)

/** The first 160 bits of SHA-256 over parent and content, in base32. */
function hashId(parent: string | null, message: WorkMessage, at: number, blocks: string): string {
  const d = hash('sha256', `${parent}\n${message.role}\n${at}\n${blocks}`, 'binary')
  let id = ''
  for (let i = 0; i < 20; i += 5) {
    const [a, b, c] = [d.charCodeAt(i), d.charCodeAt(i + 1), d.charCodeAt(i + 2)]
    const [e, f] = [d.charCodeAt(i + 3), d.charCodeAt(i + 4)]
    id += pairs[(a << 2) | (b >> 6)]! + pairs[((b & 63) << 4) | (c >> 4)]!
    id += pairs[((c & 15) << 6) | (e >> 2)]! + pairs[((e & 3) << 8) | f]!
  }
  return id
}
