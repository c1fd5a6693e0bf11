import BetterSqlite3 from 'better-sqlite3'
import { CorruptError } from '../../src/core/errors.ts'
import { collectPages } from '../../src/core/pages.ts'
import type { Store } from '../../src/core/ports.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { type Everything, fillWithEverything } from './everything.ts'

const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
const tokenHash = 'a'.repeat(64)

/** A file with all kinds of data, also those of a dispatcher and a service. */
export async function fillFile(): Promise<{ file: Buffer; everything: Everything }> {
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
  // A damaged file may have no events.
  const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(2_000)])
  for await (const event of open(signal)) {
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
export async function readEverything(store: Store, everything: Everything) {
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
