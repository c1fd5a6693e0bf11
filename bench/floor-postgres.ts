import { randomBytes } from 'node:crypto'
import { Client, type Pool } from 'pg'
import type { WorkTurn } from './workload.ts'

/** Hand-written SQL for one application on PostgreSQL: a turn in one prepared statement. */

const schema = `
CREATE TABLE conversations (
  id uuid PRIMARY KEY, title text, head text, last_seq int NOT NULL, messages int NOT NULL, tokens bigint NOT NULL,
  created_at bigint NOT NULL, updated_at bigint NOT NULL);
CREATE INDEX conversations_recent ON conversations(updated_at);
CREATE TABLE messages (
  id text COLLATE "C" PRIMARY KEY, conversation uuid NOT NULL, seq int NOT NULL, parent text COLLATE "C",
  role text NOT NULL, at bigint NOT NULL, tokens int NOT NULL, turn text NOT NULL, blocks text NOT NULL);
CREATE UNIQUE INDEX messages_seq ON messages(conversation, seq);
CREATE TABLE turns (
  key text PRIMARY KEY, conversation uuid NOT NULL, first int NOT NULL, last int NOT NULL, status text NOT NULL,
  model text, usage text, at bigint NOT NULL);
`

/** Counted by `bench/instructions.ts` (decision 84). */
export const whyAppendTakesLonger =
  'the server takes 1,087,000 instructions for an append and the floor 804,000. 316,000 of them start the ' +
  'statement (the floor: 92,000), which checks and writes five tables with 19 indexes instead of three with 5. ' +
  'The client takes 10 to 60 µs more, for eight hashes and the checks. A function in PL/pgSQL takes 4 % fewer ' +
  'instructions, and as much time (decision 93).'

const append = `
WITH c AS (
  UPDATE conversations SET head = $3, last_seq = last_seq + $4::int, messages = messages + $4::int,
    tokens = tokens + $5::bigint, updated_at = $6::bigint
  WHERE id = $1::uuid AND head IS NOT DISTINCT FROM $2::text
  RETURNING last_seq - $4::int AS base),
t AS (
  INSERT INTO turns SELECT $7::text, $1::uuid, c.base + 1, c.base + $4::int, 'complete', $8::text, $9::text, $6::bigint
  FROM c),
m AS (
  INSERT INTO messages
  SELECT u.id, $1::uuid, c.base + u.o::int, u.parent, u.role, $6::bigint, u.tokens, $7::text, u.blocks
  FROM c, unnest($10::text[], $11::text[], $12::text[], $13::int[], $14::text[]) WITH ORDINALITY
    AS u(id, parent, role, tokens, blocks, o))
SELECT base FROM c`

const load = `
  SELECT id, seq, parent, role, at, tokens, turn, blocks FROM messages WHERE conversation = $1 ORDER BY seq`

/** The newest messages in one statement. */
const tail = `
  SELECT id, seq, parent, role, at, tokens, turn, blocks FROM messages
  WHERE conversation = $1 ORDER BY seq DESC LIMIT $2`

export interface PostgresContender {
  create(id: string, title: string): Promise<void>
  head(id: string): Promise<string | null>
  append(id: string, head: string | null, turn: WorkTurn): Promise<string>
  load(id: string, head: string): Promise<number>
  tail(id: string, head: string, messages: number): Promise<number>
  close(): Promise<void>
}

export async function makeFloorTables(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(schema)
  await client.end()
}

/** On a connection of its own, or on a pool of the caller. */
export async function openPostgresFloor(place: string | Pool): Promise<PostgresContender> {
  const own = typeof place === 'string' ? new Client({ connectionString: place }) : null
  await own?.connect()
  const client = own ?? (place as Pool)
  return {
    async create(id, title) {
      await client.query('INSERT INTO conversations VALUES ($1, $2, NULL, 0, 0, 0, $3, $3)', [
        id,
        title,
        Date.now(),
      ])
    },
    async head(id) {
      const text = 'SELECT head FROM conversations WHERE id = $1'
      const { rows } = await client.query({ name: 'head', text, values: [id] })
      return (rows[0] as { head: string | null }).head
    },
    async append(id, head, { key, model, usage, messages }) {
      const blocks = messages.map(message => JSON.stringify(message.content))
      const tokens = blocks.map(text => Math.ceil(text.length / 4))
      const ids = messages.map(timeId)
      const last = ids.at(-1)!
      const values = [
        ...[id, head, last, messages.length, tokens.reduce((a, b) => a + b), Date.now(), key, model],
        ...[
          JSON.stringify(usage),
          ids,
          [head, ...ids.slice(0, -1)],
          messages.map(({ role }) => role),
          tokens,
          blocks,
        ],
      ]
      const { rowCount } = await client.query({ name: 'append', text: append, values })
      if (rowCount !== 1) throw new Error('conflict')
      return last
    },
    async load(id) {
      const { rows } = await client.query({ name: 'load', text: load, values: [id] })
      return rows.map(messageOf).length
    },
    async tail(id, _, messages) {
      const { rows } = await client.query({ name: 'tail', text: tail, values: [id, messages] })
      return rows.reverse().map(messageOf).length
    },
    close: async () => own?.end(),
  }
}

function messageOf(row: Record<string, string>) {
  const { id, seq, parent, role, at, tokens, turn, blocks } = row
  const parsed = JSON.parse(blocks!) as unknown
  return { id, seq, parentId: parent, role, createdAt: new Date(Number(at)), tokens, turn, blocks: parsed }
}

let counter = 0
const thisProcess = randomBytes(5).toString('hex')

function timeId(): string {
  counter = (counter + 1) % 1_679_616
  return `${Date.now().toString(36).padStart(9, '0')}${counter.toString(36).padStart(4, '0')}${thisProcess}`
}
