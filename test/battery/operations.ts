import BetterSqlite3 from 'better-sqlite3'
import { Pool } from 'pg'
import { summarize } from '../../src/context/summary/summarize.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import type { Migration } from '../../src/stores/engine/schema.ts'
import { openStore } from '../../src/stores/open.ts'
import * as postgres from '../../src/stores/postgres/migrate.ts'
import { migrations as postgresMigrations } from '../../src/stores/postgres/migrations.ts'
import * as sqlite from '../../src/stores/sqlite/migrate.ts'
import { migrations as sqliteMigrations } from '../../src/stores/sqlite/migrations.ts'
import { appendTexts, say } from '../../src/testing/contract/build.ts'
import { told } from '../context/model.ts'
import { importAll, lookAtImport } from './an-import.ts'

/** An operation in which a process may die, and which another process repeats afterwards. */
export interface Operation {
  /** Creates the store in its state before the operation. */
  prepare(target: string): Promise<void>
  /** Performs the operation, or the rest of it. `arm` is called when everything is open and it begins. */
  run(target: string, arm: () => void, now?: () => number): Promise<void>
  /** The part of it that is stored; anything except nothing, everything and, for an operation in parts, a
   *  part, is damage. */
  look(target: string): Promise<'nothing' | 'all' | 'part' | string>
  readonly inParts?: true
}

const isPostgres = (target: string) => target.startsWith('postgres')

async function withStore<T>(target: string, work: (store: Store) => Promise<T>, now = Date.now): Promise<T> {
  await using store = await openStore(target, {
    source: { now, uuid: () => crypto.randomUUID() },
    // The background index would add transactions at times of its own.
    indexing: 'manual',
  })
  return await work(store)
}

const turnMessages = [
  say('What is in the file?'),
  say(`It says: ${'long '.repeat(4_000)}`, 'assistant'),
  say('Thank you.', 'assistant'),
] as const

const aTurn: Operation = {
  prepare: target => withStore(target, async store => void (await store.create({ key: 'talk' }))),
  run: (target, arm) =>
    withStore(target, async store => {
      const { branch } = (await store.findByKey('talk'))!
      arm()
      // Like a caller with an unknown outcome: the same key and step, and the head that it knows.
      await store.append(branch, null, turnMessages, { turn: { key: 't', step: 0 } })
    }),
  look: target =>
    withStore(target, async store => {
      const { branch, conversation } = (await store.findByKey('talk'))!
      const said = branch.head === null ? [] : (await pathOf(store, branch.head)).map(textOf)
      const { items } = await store.listMessages({ conversationId: conversation.id })
      const turns = await collectPages(page => store.listTurns(conversation.id, page))
      const seen = [said.length, items.length, conversation.messages, turns.length, turns[0]?.status]
      if (String(seen) === String([0, 0, 0, 0, undefined])) return 'nothing'
      const words = said.join() === turnMessages.map(({ content: blocks }) => blocks).join()
      return words && String(seen) === String([3, 3, 3, 1, 'complete']) ? 'all' : `a part: ${seen}`
    }),
}

const aSummary: Operation = {
  prepare: target =>
    withStore(target, async store => {
      const place = await store.create({ key: 'talk' })
      for (let i = 0; i < 10; i++) await appendTexts(store, place, `question ${i}`, `answer ${i}`)
    }),
  run: (target, arm, now) =>
    withStore(
      target,
      async store => {
        const { branch } = (await store.findByKey('talk'))!
        const place = { conversationId: branch.conversationId, head: branch.head! }
        arm()
        const { outcome } = await summarize(store, place, {
          model: told(() => 'In short.'),
          window: { limit: 100_000 },
          holder: { host: 'battery', boot: 'b', pid: process.pid, startedAt: 1 },
          after: () => () => {},
        })
        if (outcome !== 'made' && outcome !== 'reused') throw new Error(`the summary: ${outcome}`)
      },
      now,
    ),
  look: target =>
    withStore(target, async store => {
      const { branch, conversation } = (await store.findByKey('talk'))!
      if ((await pathOf(store, branch.head!)).length !== 20) return 'messages are missing'
      const made = await collectPages(page => store.listSummaries(conversation.id, page))
      if (made.length === 0) return 'nothing'
      return made.length === 1 && made[0]!.text === 'In short.' ? 'all' : JSON.stringify(made)
    }),
}

/** A future version: its migration changes existing data, and removes something first. */
function nextVersion({ version }: Migration, schema: string): Migration {
  const titles = `UPDATE ${schema}conversations SET title = 'migrated'`
  return {
    version: version + 1,
    name: 'all titles anew',
    sql: `UPDATE ${schema}conversations SET title = NULL; CREATE TABLE ${schema}more (x int); ${titles}`,
  }
}
const sqliteNext = [...sqliteMigrations, nextVersion(sqliteMigrations.at(-1)!, 'skein_')]
const postgresNext = [...postgresMigrations, nextVersion(postgresMigrations.at(-1)!, 'skein.')]

const aMigration: Operation = {
  prepare: target =>
    withStore(target, async store => {
      for (let i = 0; i < 5; i++) await appendTexts(store, await store.create({ title: 'old' }), 'one', 'two')
    }),
  async run(target, arm) {
    if (isPostgres(target)) {
      const pool = new Pool({ connectionString: target })
      await pool.query('SELECT 1')
      arm()
      await postgres.migrateDatabase(pool, postgresNext).finally(() => pool.end())
      return
    }
    const db = new BetterSqlite3(target)
    arm()
    await sqlite.migrateFile(db, sqliteNext).finally(() => db.close())
  },
  async look(target) {
    const facts = isPostgres(target) ? await postgresFacts(target) : sqliteFacts(target)
    const { version, titles, messages, more } = facts
    const seen = `${version} ${titles} ${messages} ${more}`
    const old = isPostgres(target) ? postgresMigrations.length : sqliteMigrations.length
    if (seen === `${old} old 10 false`) return 'nothing'
    return seen === `${old + 1} migrated 10 true` ? 'all' : seen
  },
}

interface Facts {
  readonly version: number
  readonly titles: string
  readonly messages: number
  readonly more: boolean
}

function sqliteFacts(target: string): Facts {
  const db = new BetterSqlite3(target)
  const pluck = (sql: string) => db.prepare(sql).pluck().get()
  const facts = {
    version: sqlite.schemaVersion(db),
    titles: String(pluck('SELECT group_concat(DISTINCT title) FROM skein_conversations')),
    messages: Number(pluck('SELECT count(*) FROM skein_messages')),
    more: pluck(`SELECT count(*) FROM sqlite_master WHERE name = 'skein_more'`) === 1,
  }
  db.close()
  return facts
}

async function postgresFacts(target: string): Promise<Facts> {
  const pool = new Pool({ connectionString: target })
  const { rows } = await pool.query(`
    SELECT (SELECT version FROM skein.schema_version) AS version,
      (SELECT string_agg(DISTINCT title, ',') FROM skein.conversations) AS titles,
      (SELECT count(*)::int FROM skein.messages) AS messages,
      to_regclass('skein.more') IS NOT NULL AS more`)
  await pool.end()
  return rows[0]
}

const anImport: Operation = {
  prepare: target => withStore(target, async () => {}),
  run: (target, arm) => withStore(target, store => importAll(store, arm)),
  look: target => withStore(target, lookAtImport),
  inParts: true,
}

/** By name, so that a process can be told which one to run. */
export const operations = {
  'a turn': aTurn,
  'a summary': aSummary,
  'a migration': aMigration,
  'an import': anImport,
} as const satisfies Record<string, Operation>

export type OperationName = keyof typeof operations
