import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CorruptError } from '../../../src/core/errors.ts'
import type { Finding } from '../../../src/core/finding.ts'
import { collectPages } from '../../../src/core/pages.ts'
import type { Store } from '../../../src/core/ports.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { recoverFile } from '../../../src/stores/sqlite/recover/recover-file.ts'
import { type Everything, fillWithEverything } from '../everything.ts'

const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
const tokenHash = 'a'.repeat(64)

/** A file with all kinds of data. */
async function fill(): Promise<{ file: Buffer; everything: Everything }> {
  const db = new BetterSqlite3(':memory:')
  const store = await sqliteStore(db)
  const everything = await fillWithEverything(store)
  const request = { call: 'call', message: everything.again, branch: 'main', turn: 'open-turn' }
  await store.addEvents(everything.open, [
    { type: 'approval_requested', data: { approval: 'asked', ...request } },
    { type: 'approval_requested', data: { approval: 'answered', ...request } },
  ])
  await store.answerApproval(everything.open, 'answered', { answer: 'allow' })
  await store.submitTask({ id: 'ended', description: 'a task', metadata: { urgent: true } })
  const claimed = await store.claimDispatch({ holder, worker: 'w' })
  await store.finishDispatch(claimed!.claim, { status: 'done', result: { value: 1 } })
  await store.submitTask({ id: 'running', description: 'another task' })
  await store.claimDispatch({ holder, worker: 'w' })
  await store.addToken({ hash: tokenHash, name: 'token', scopes: ['read'], expiresAt: new Date(2 ** 41) })
  const file = db.serialize()
  db.close()
  return { file, everything }
}

interface Column {
  readonly table: string
  readonly column: string
  readonly holds: 'JSON' | 'a time'
}

/** The columns that hold JSON or a time, from the schema and the rows of the file. */
function columnsOf(file: Buffer): readonly Column[] {
  const db = new BetterSqlite3(file)
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%'`)
  const columns = (tables.pluck().all() as string[]).flatMap(table =>
    (db.pragma(`table_info(${table})`) as { name: string }[]).flatMap(({ name: column }): Column[] => {
      if (/^at$|_at$|_until$/.test(column)) return [{ table, column, holds: 'a time' }]
      const values = db.prepare(`SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL`).pluck().all()
      return values.length > 0 && values.every(isJson) ? [{ table, column, holds: 'JSON' }] : []
    }),
  )
  db.close()
  return columns
}

function isJson(value: unknown): boolean {
  return typeof value === 'string' && /^["[{].*["\]}]$/s.test(value)
}

type Reading = (store: Store, everything: Everything) => Promise<unknown>

const ofConversation: Record<string, (store: Store, id: Everything['talk']) => Promise<unknown>> = {
  getConversation: (store, id) => store.getConversation(id),
  listBranches: (store, id) => collectPages(page => store.listBranches(id, page)),
  listAgentLinks: (store, id) =>
    collectPages(page => store.listAgentLinks({ conversationId: id, name: 'main' }, page)),
  findWithTail: (store, id) =>
    store.findWithTail({ conversationId: id, name: 'main' }, { messages: 50 }, { summaries: 9 }),
  listMessages: (store, id) => collectPages(page => store.listMessages({ conversationId: id, ...page })),
  listTurns: (store, id) => collectPages(page => store.listTurns(id, page)),
  listSummaries: (store, id) => collectPages(page => store.listSummaries(id, page)),
  listEvents: (store, id) => collectPages(page => store.listEvents(id, page)),
  listStretches: (store, id) => collectPages(page => store.listStretches(id, page)),
  readPathSection: async (store, id) => {
    const { head } = await store.getBranch({ conversationId: id, name: 'main' })
    return head && store.readPathSection(head)
  },
  readRecords: (store, id) => allOf(store.readRecords(id)),
  measureConversation: (store, id) => store.measureConversation(id),
  resolve: (store, id) => store.resolve(id),
}

const ofStore: Record<string, Reading> = {
  findByKey: store => store.findByKey('sample:talk'),
  findByTask: store => store.findByTask('task-1', 'project'),
  findByAgentLink: store => store.findByAgentLink('claude-code', 'abc-1'),
  getMessages: (store, { erased, again }) => store.getMessages([erased, again]),
  readDraft: (store, { open }) => store.readDraft(open, 'open-turn'),
  follow: (store, { open }) => firstOf(signal => store.follow(open, { signal })),
  followActivity: store => firstOf(signal => store.followActivity({ since: new Date(0), signal })),
  listConversations: store => collectPages(page => store.listConversations(page)),
  readOverviews: async store => store.readOverviews((await store.listConversations()).items),
  search: store => store.search('log'),
  listApprovals: store => store.listApprovals({ status: 'any' }),
  getApproval: (store, { open }) => store.getApproval(open, 'answered'),
  getTask: store => store.getTask('ended'),
  listTasks: store => collectPages(page => store.listTasks(page)),
  getDispatch: store => store.getDispatch('ended', 1),
  listDispatches: store => collectPages(page => store.listDispatches('ended', page)),
  listRunningDispatches: store => collectPages(page => store.listRunningDispatches(page)),
  readTaskRecords: store => allOf(store.readTaskRecords()),
  findToken: store => store.findToken(tokenHash),
  listTokens: store => collectPages(page => store.listTokens(page)),
  measure: store => store.measure(new Date(0)),
}

async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

async function firstOf<T>(open: (signal: AbortSignal) => AsyncIterable<T>): Promise<T | undefined> {
  const controller = new AbortController()
  for await (const event of open(controller.signal)) {
    controller.abort()
    return event
  }
  return undefined
}

/** Throws RangeError, as a command would, if a value contains a date that cannot be printed. */
function printDates(value: unknown): void {
  if (value instanceof Date) value.toISOString()
  else if (value instanceof Map) for (const one of value.values()) printDates(one)
  else if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) printDates(one)
}

/** Runs all readings and returns the errors that are not CorruptError, and the number of those that are. */
async function readAll(store: Store, everything: Everything) {
  const tries: Record<string, () => Promise<unknown>> = Object.fromEntries([
    ...Object.entries(ofStore).map(([name, read]) => [name, () => read(store, everything)] as const),
    ...everything.ids.flatMap(id =>
      Object.entries(ofConversation).map(([name, read]) => [`${name} ${id}`, () => read(store, id)] as const),
    ),
  ])
  const other: string[] = []
  let corrupt = 0
  for (const [name, read] of Object.entries(tries)) {
    try {
      printDates(await read())
    } catch (error) {
      if (error instanceof CorruptError) corrupt++
      else other.push(`${name}: ${error}`)
    }
  }
  return { corrupt, other }
}

/** Copies the intact data of a file to a new store. */
async function recovered(
  damaged: BetterSqlite3.Database,
): Promise<{ store: Store; losses: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'damaged-fields-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'damaged.db')
  writeFileSync(path, damaged.serialize())
  const target = new BetterSqlite3(':memory:')
  onTestFinished(() => void target.close())
  const store = await sqliteStore(target)
  const losses: string[] = []
  const { gaps } = await recoverFile(path, store, { onLoss: ({ what }) => losses.push(what) })
  return { store, losses: [...losses, ...gaps.map(({ reason }) => reason)] }
}

const { file, everything } = await fill()
const columns = columnsOf(file)

const damages = columns.flatMap(({ table, column, holds }) =>
  holds === 'JSON'
    ? [
        { table, column, value: `'{"x'` },
        { table, column, value: `'17'` },
      ]
    : [{ table, column, value: '9007199254740000' }],
)

describe('a field that cannot be read', () => {
  it('is looked for in all columns with JSON or a time', () => {
    expect(columns.filter(({ holds }) => holds === 'JSON').map(({ column }) => column)).toEqual(
      expect.arrayContaining(['metadata', 'tags', 'usage', 'holder', 'erased', 'data', 'result', 'scopes']),
    )
    expect(columns.length).toBeGreaterThan(30)
  })

  it('nothing fails in the intact file', async () => {
    const db = new BetterSqlite3(file)
    const store = await sqliteStore(db)
    expect(await readAll(store, everything)).toEqual({ corrupt: 0, other: [] })
    db.close()
  })

  it.each(damages)(
    'in the column $column of $table ($value) is named by reads, found by verify, and recovered from',
    async ({ table, column, value }) => {
      const db = new BetterSqlite3(file)
      onTestFinished(() => void db.close())
      db.pragma('ignore_check_constraints = ON')
      db.exec(`UPDATE ${table} SET ${column} = ${value} WHERE ${column} IS NOT NULL`)
      const store = await sqliteStore(db)
      const { corrupt, other } = await readAll(store, everything)
      expect(other).toEqual([])
      const findings: Finding[] = []
      await store.verify({ onFinding: finding => findings.push(finding) })
      if (corrupt > 0) expect(findings.filter(({ severity }) => severity !== 'note')).not.toEqual([])

      const { store: copy, losses } = await recovered(db)
      expect(losses).toContain('1 access token is not copied. Make new ones: skein token create')
      // No worker holds a recovered task, so that a claim is not missed.
      const isMissed = table !== 'skein_tokens' && !(table === 'skein_tasks' && /holder|lease/.test(column))
      if (corrupt > 0 && isMissed) expect(losses.length).toBeGreaterThan(1)
      const after = await copy.verify()
      expect(after.findings).toEqual({ damage: 0, repairable: 0, note: 0 })
      // A message whose time is wrong does not match its id. Everything else of a message and of a
      // conversation is kept, and only an event is nothing without its data.
      const { conversations, messages } = await (await sqliteStore(new BetterSqlite3(file))).verify()
      const isTimeOfMessages = table === 'skein_messages' && column === 'at'
      expect(after).toMatchObject({ conversations, messages: isTimeOfMessages ? 0 : messages })
      const reread = await readAll(copy, everything)
      expect(reread.corrupt).toBe(0)
      if (!isTimeOfMessages)
        expect(reread.other).toEqual(
          table === 'skein_events' && column === 'data' ? [expect.stringContaining('getApproval')] : [],
        )
    },
  )
})
