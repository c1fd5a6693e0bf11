import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import type { ConversationId } from '../../src/core/ids.ts'
import { type SourcedRecord, takeIn } from '../../src/core/take-in.ts'
import { openStore } from '../../src/stores/open.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { copyRows } from '../copy-rows.ts'
import { pairedRatio } from '../measure.ts'
import type { Line, Suite } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

const conversations = 40
const turnsEach = 125
const messages = conversations * turnsEach * 4

const ids = Array.from({ length: conversations }, (_, i) => workId(i) as ConversationId)

async function fill(file: string): Promise<void> {
  await using store = await openStore(file)
  let turns = 0
  for (const [i, id] of ids.entries()) {
    const { branch } = await store.create({ id, title: `conversation ${i}`, key: `work:${i}` })
    let head = branch.head
    for (let turn = 0; turn < turnsEach; turn++) {
      const { key, model, usage, messages } = makeTurn(turns++)
      head = (await store.append(branch, head, messages, { turn: { key, step: 0, model, usage } })).head
    }
  }
}

/** As `skein copy` does it. */
async function copyWithSkein(file: string, url: string): Promise<void> {
  await using source = await openStore(file)
  await using target = await openStore(url, { indexing: 'manual' })
  const tally = await takeIn(target, records())
  if (tally.added.message !== messages) throw new Error(`${tally.added.message} messages were copied`)

  async function* records(): AsyncGenerator<SourcedRecord> {
    for (const id of ids) {
      for await (const record of source.readRecords(id)) {
        if (record.kind === 'unreadable') throw new Error(record.reason)
        yield { record, file: '', line: 0 }
      }
    }
  }
}

const columns = {
  messages: [
    ...[
      'conv',
      'seq',
      'parent_seq',
      'run',
      'depth',
      'tokens',
      'turn',
      'path_tokens',
      'at',
      'step',
      'id',
      'role',
    ],
    ...['label', 'body_hash', 'body', 'erased'],
  ],
  turns: [
    ...[
      'conv',
      'key',
      'branch',
      'first',
      'last',
      'last_step',
      'status',
      'model',
      'prompt_hash',
      'usage',
      'holder',
    ],
    ...['lease_until', 'started_at', 'ended_at'],
  ],
  branches: [
    ...[
      'conv',
      'name',
      'head_seq',
      'head_id',
      'head_run',
      'head_depth',
      'head_path_tokens',
      'key',
      'former_key',
    ],
    ...['trashed_key', 'title', 'created_at', 'updated_at'],
  ],
  conversations: [
    ...['id', 'kind', 'title', 'title_folded', 'prompt_policy', 'tool_results', 'metadata', 'tags'],
    ...['active_branch', 'next_seq', 'messages', 'tokens', 'tokens_used', 'cost', 'version', 'created_at'],
    'updated_at',
  ],
} as const

/** By hand: the rows of one file into the tables of our schema, by COPY, a transaction per conversation. It
 *  trusts the file and the database. */
async function copyByHand(file: string, url: string): Promise<void> {
  const db = new Database(file, { readonly: true })
  const client = new Client({ connectionString: url })
  await client.connect()
  for (const id of ids) {
    const { c } = db.prepare('SELECT c FROM skein_conversations WHERE id = ?').get(id) as { c: number }
    await client.query('BEGIN')
    for (const table of ['conversations', 'messages', 'turns', 'branches'] as const) {
      const wanted = columns[table]
      const by = table === 'conversations' ? 'c' : 'conv'
      const rows = db.prepare(`SELECT * FROM skein_${table} WHERE ${by} = ?`).all(c) as Record<
        string,
        unknown
      >[]
      const values = rows.map(row => ['default', ...wanted.map(name => (name === 'conv' ? id : row[name]))])
      await copyRows(client, `skein.${table} (tenant, ${wanted.join(', ')})`, values)
    }
    await client.query('COMMIT')
  }
  await client.end()
  db.close()
}

export const copySuite: Suite = {
  name: 'copy',
  when: 'byName',
  tasks: {},
  async run(bench) {
    const server = await startPostgres({ fsync: 'on' })
    try {
      const file = join(bench.place, 'copied.db')
      await fill(file)
      const took = { floor: [] as number[][], ours: [] as number[][] }
      const copies = { floor: copyByHand, ours: copyWithSkein }
      for (let round = -1; round < bench.scale.rounds * 2; round++) {
        for (const name of round % 2 === 0 ? (['floor', 'ours'] as const) : (['ours', 'floor'] as const)) {
          const url = await server.createDatabase()
          await (await openStore(url)).close()
          const start = performance.now()
          await copies[name](file, url)
          // The first one warms up.
          if (round >= 0) took[name].push([performance.now() - start])
        }
      }
      const perSecond = (series: readonly (readonly number[])[]) => {
        const middle = series.flat().sort((a, b) => a - b)[series.length >> 1]!
        return `${Math.round((messages * 1_000) / middle).toLocaleString('en')} messages a second`
      }
      const line: Line = {
        work: `PostgreSQL: copy ${messages.toLocaleString('en')} messages from SQLite, ours ÷ floor`,
        floor: perSecond(took.floor),
        ours: perSecond(took.ours),
        ratio: pairedRatio(took.floor, took.ours),
        goal: 0.7,
        more: true,
        note: 'the floor is COPY into the same tables, without any check',
        why:
          'both send the rows by COPY, and the server takes the same processor time for both, about 17 µs a ' +
          'message. Our client takes 23 to 29 µs a message, and the floor 14 to 16: the checks, two hashes, a parsed ' +
          'body and the positions of messages that are stored already.',
      }
      return [line]
    } finally {
      await server.stop()
    }
  },
}
