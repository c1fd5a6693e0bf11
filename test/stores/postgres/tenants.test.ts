import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ConversationId, MessageId } from '../../../src/core/ids.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { freshDatabase, openPool } from './database.ts'

const pool = openPool(await freshDatabase())
const a = await postgresStore(pool, { tenant: 'a', indexing: 'manual' })
const b = await postgresStore(pool, { tenant: 'b', indexing: 'manual' })
const holder = { host: 'here', boot: 'boot', pid: 1, startedAt: 0 }
const worker = { holder, worker: 'w' }

/** Ids that a caller may have obtained: those of tenant A's data, or unknown ones. */
interface Known {
  readonly id: ConversationId
  readonly message: MessageId
  readonly last: MessageId
  readonly blob: string
  readonly word: string
  readonly key: string
  readonly task: string
  readonly token: string
}

const known = await furnish(a)
const nothing: Known = {
  id: 'ffffffff-ffff-4fff-8fff-ffffffffffff' as ConversationId,
  message: '7'.repeat(32) as MessageId,
  last: '6'.repeat(32) as MessageId,
  blob: 'f'.repeat(64),
  word: 'nowhere',
  key: 'no key',
  task: 'unfiled',
  token: '5555',
}

/** A conversation with one of each kind of data. */
async function furnish(store: Store): Promise<Known> {
  const key = 'cli:default'
  const { conversation, branch } = await store.create({
    ...{ key, title: 'Secret', task: key, tags: ['x'], directory: '/home/a', prompt: 'Be secret.' },
    ...{ metadata: { secret: true }, expiresAt: new Date(Date.now() + 60_000) },
  })
  const { id } = conversation
  const turn = { key, step: 0, status: 'open', holder } as const
  const { ids, head } = await store.append(
    branch,
    null,
    [
      { role: 'user', content: 'A hidden word', label: 'marked' },
      { role: 'assistant', content: 'y'.repeat(20_000) },
    ],
    { turn },
  )
  await store.putDraft(id, key, holder, [{ n: 0, type: 'text', text: 'draft' }])
  await store.addEvents(id, [{ type: 'plan', data: { secret: 1 } }])
  await store.setAgentLink(branch, { agent: 'agent', directory: '/home/a', foreignId: key, seen: head })
  const range = { first: ids[0], last: head }
  await store.claimSummary(id, range, holder)
  await store.putSummary(id, { ...range, tokens: 1, text: 'In short.', holder })
  await store.search('hidden')
  const { id: token } = await store.addToken({ hash: newHash(), name: 'A', scopes: ['admin'] })
  const [message] = await store.getMessages([head])
  const task = await furnishTask(store)
  return { id, message: ids[0], last: head, blob: message!.blobs[0]!.hash, word: 'hidden', key, task, token }
}

/** A task whose second dispatch runs, and another one that is queued. */
async function furnishTask(store: Store): Promise<string> {
  const { id } = await store.submitTask({ id: 'secret task', project: 'theirs', description: 'd' })
  for (const n of [1, 2]) {
    await store.dispatchTask(id, { n })
    const { claim } = (await store.claimThisDispatch(id, n, worker))!
    if (n === 1) await store.finishDispatch(claim, { status: 'done', result: { secret: true } })
  }
  await store.submitTask({ id: 'another', project: 'theirs', description: 'hidden' })
  return id
}

/** A cursor of `followActivity` and `followTasks`: a time. */
const fromTheBeginning = Buffer.from('[0]').toString('base64url')

async function firstOf<T>(events: AsyncIterable<T>): Promise<T | null> {
  for await (const event of events) return event
  return null
}

/** The hash of a secret that no token has. */
function newHash(): string {
  return randomBytes(32).toString('hex')
}

const plainBranch = { key: null, formerKey: null, trashedKey: null, title: null, createdAt: 0, updatedAt: 0 }

const { conversation, branch: listedBranch } = await (await postgresStore(pool, { tenant: 'c' })).create()
const listedConversation = { ...conversation, branch: listedBranch }

/** Every method, called with known ids. */
type Method = Exclude<keyof Store, symbol | 'leaseMs'>

const calls: { readonly [M in Method]: (store: Store, about: Known) => Promise<unknown> } = {
  getConversation: (s, { id }) => s.getConversation(id),
  versionOf: (s, { id }) => s.versionOf(id),
  getBranch: (s, { id }) => s.getBranch({ conversationId: id, name: 'main' }),
  listBranches: (s, { id }) => s.listBranches(id),
  findByKey: (s, { key }) => s.findByKey(key),
  findByTask: (s, { key }) => s.findByTask(key),
  findByAgentLink: (s, { key }) => s.findByAgentLink('agent', key),
  listAgentLinks: (s, { id }) => s.listAgentLinks({ conversationId: id, name: 'main' }),
  resolve: (s, { id }) => s.resolve(id.slice(0, 8)),
  getMessages: (s, { message }) => s.getMessages([message]),
  listPath: (s, { last }) => s.listPath(last),
  readPathSection: (s, { last }) => s.readPathSection(last),
  tail: (s, { last }) => s.tail(last, { messages: 5 }),
  findWithTail: (s, { id }) => {
    return s.findWithTail({ conversationId: id, name: 'main' }, { messages: 5 }, { summaries: 1 })
  },
  listStretches: (s, { id }) => s.listStretches(id),
  findTurn: (s, { id, key }) => s.findTurn(id, key),
  readBlob: (s, { blob }) => s.readBlob(blob),
  listTurns: (s, { id }) => s.listTurns(id),
  readDraft: (s, { id, key }) => s.readDraft(id, key),
  listSummaries: (s, { id }) => s.listSummaries(id),
  listEvents: (s, { id }) => s.listEvents(id),
  listApprovals: (s, { id }) => s.listApprovals({ conversationId: id }),
  getApproval: (s, { id }) => s.getApproval(id, 'a'),
  answerApproval: (s, { id }) => s.answerApproval(id, 'a', { answer: 'allow' }),
  create: async (s, { id, message }) => {
    const made = await s.create({ kind: 'subagent', parent: { conversationId: id, messageId: message } })
    return made.conversation.prompt
  },
  findOrCreate: async (s, { key }) => {
    const made = await s.findOrCreate(`${key}`)
    await s.trash(made.conversation.id)
    return made.created
  },
  findOrCreateByTask: async (s, { key }) => {
    const made = await s.findOrCreateByTask(key)
    await s.trash(made.conversation.id)
    return made.created
  },
  updateConversation: (s, { id }) => s.updateConversation(id, { title: 'Mine' }),
  ifVersion: (s, { id }) => s.ifVersion(id, 1).trash(id),
  append: (s, { id, last }) =>
    s.append({ conversationId: id, name: 'main' }, last, [{ role: 'user', content: 'Mine' }]),
  save: (s, { id, last }) => s.save(id, [{ parent: last, message: { role: 'user', content: 'Mine' } }]),
  setLabel: (s, { message }) => s.setLabel(message, 'mine'),
  createBranch: (s, { id, message }) => s.createBranch(id, message, { name: 'mine' }),
  renameBranch: (s, { id }) => s.renameBranch({ conversationId: id, name: 'main' }, 'mine'),
  deleteBranch: (s, { id }) => s.deleteBranch({ conversationId: id, name: 'main' }),
  moveBranch: (s, { id, last }) => s.moveBranch({ conversationId: id, name: 'main' }, last, null),
  activateBranch: (s, { id }) => s.activateBranch({ conversationId: id, name: 'main' }),
  setKey: (s, { id }) => s.setKey({ conversationId: id, name: 'main' }, null),
  moveKey: (s, { id }) => s.moveKey({ conversationId: id, name: 'main' }, 'main'),
  setAgentLink: (s, { id }) =>
    s.setAgentLink(
      { conversationId: id, name: 'main' },
      { agent: 'x', directory: '', foreignId: 'x', seen: null },
    ),
  removeAgentLink: (s, { id }) => s.removeAgentLink({ conversationId: id, name: 'main' }, 'agent', '/home/a'),
  reset: (s, { id }) => s.reset({ conversationId: id, name: 'main' }),
  putDraft: (s, { id, key }) => s.putDraft(id, key, holder, [{ n: 1, type: 'text', text: 'mine' }]),
  renewTurn: (s, { id, key }) => s.renewTurn(id, key, holder),
  endTurn: (s, { id, key }) => s.endTurn(id, key, { status: 'failed', heldBy: holder }),
  reopenTurn: (s, { id }) => s.reopenTurn({ conversationId: id, name: 'main' }, holder),
  addEvents: (s, { id }) => s.addEvents(id, [{ type: 'plan' }]),
  claimSummary: (s, { id, message, last }) => s.claimSummary(id, { first: message, last }, holder),
  putSummary: (s, { id, message, last }) =>
    s.putSummary(id, { first: message, last, tokens: 1, text: 'Mine.', holder }),
  listConversations: async s => (await s.listConversations({ directory: '/home/a' })).items,
  countConversations: s => s.countConversations({ metadata: { secret: true } }),
  listDirectories: async s => (await s.listDirectories({ within: '/home' })).items,
  listMessages: (s, { id }) => s.listMessages({ conversationId: id }),
  readOverviews: async (s, { id, last }) => {
    const branch = { ...listedBranch, conversationId: id, head: last }
    const [first] = await s.readOverviews([{ ...listedConversation, id, branch }])
    return { ...first, conversation: null }
  },
  versionsOf: async (s, { id }) => [...(await s.versionsOf([id])).values()],
  uniqueLengths: async (s, { id }) => [...(await s.uniqueLengths([id])).values()],
  search: async (s, { word }) => (await s.search(word)).items,
  deleteMessages: (s, { message }) => s.deleteMessages([message], { recursive: true }),
  eraseMessages: (s, { message }) => s.eraseMessages([message], { by: 'b', reason: 'mine' }),
  trash: (s, { id }) => s.trash(id),
  restore: (s, { id }) => s.restore(id),
  purge: (s, { id }) => s.purge(id),
  sweep: async s => ({ ...(await s.sweep()), trashed: [], purged: [], remains: [] }),
  // All tenants share the tables.
  compact: async s => (await s.compact()).remains,
  indexSearch: s => s.indexSearch(),
  rebuildSearch: s => s.rebuildSearch(),
  verify: (s, { id }) => s.verify({ conversations: [id] }),
  // All tenants share the tables.
  measureConversation: (s, { id }) => s.measureConversation(id),
  measure: async s => ({ ...(await s.measure(new Date(0))), sizes: [] }),
  schemaVersion: s => s.schemaVersion(),
  readRecords: (s, { id }) => s.readRecords(id)[Symbol.asyncIterator]().next(),
  writeRecords: (s, { id, last: head }) =>
    s.writeRecords([{ kind: 'branch', conversationId: id, name: 'mine', head, ...plainBranch }]),
  readTaskRecords: async s => {
    const ids: string[] = []
    for await (const { id, project } of s.readTaskRecords()) if (project === 'theirs') ids.push(id)
    return ids
  },
  submitTask: async s => (await s.submitTask({ project: 'mine', description: 'd' })).status,
  dispatchTask: async (s, { task }) => (await s.dispatchTask(task, { n: 1 })).status,
  claimDispatch: async s => (await s.claimDispatch(worker, { projects: ['theirs'] }))?.task.description,
  claimThisDispatch: async (s, { task }) => (await s.claimThisDispatch(task, 1, worker))?.claim,
  renewDispatch: async (s, { task }) => (await s.renewDispatch({ task, n: 2, attempt: 1 })).status,
  linkDispatch: (s, { task, id }) => s.linkDispatch({ task, n: 2, attempt: 1 }, id),
  finishDispatch: async (s, { task }) =>
    (await s.finishDispatch({ task, n: 2, attempt: 1 }, { status: 'done' })).status,
  releaseDispatch: async (s, { task }) => (await s.releaseDispatch({ task, n: 2, attempt: 1 })).status,
  reclaimDispatch: async (s, { task }) => {
    const [seen] = (await s.listRunningDispatches()).items
    return (
      await s.reclaimDispatch({ ...seen!, task, n: 2, attempts: 1, leaseUntil: seen?.leaseUntil ?? null })
    )?.status
  },
  cancelTask: async (s, { task }) => (await s.cancelTask(task)).status,
  retryTask: async (s, { task }) => (await s.retryTask(task)).status,
  getTask: async (s, { task }) => (await s.getTask(task)).status,
  listTasks: async s => (await s.listTasks({ project: 'theirs' })).items.length,
  getDispatch: async (s, { task }) => (await s.getDispatch(task, 1)).status,
  listDispatches: async (s, { task }) => (await s.listDispatches(task)).items.length,
  listRunningDispatches: async s => (await s.listRunningDispatches()).items.length,
  countTasks: async s => (await s.countTasks()).running,
  deleteTask: (s, { task }) => s.deleteTask(task),
  deleteProject: s => s.deleteProject('theirs'),
  follow: (s, { id }) => firstOf(s.follow(id)),
  followActivity: async s => {
    const options = { after: fromTheBeginning, signal: AbortSignal.timeout(300) }
    return (await firstOf(s.followActivity(options)))?.conversation.title
  },
  followTasks: async s => {
    const options = { after: fromTheBeginning, signal: AbortSignal.timeout(300) }
    const event = await firstOf(s.followTasks(options))
    return event?.type === 'task' && event.task.description
  },
  addToken: async s => (await s.addToken({ hash: newHash(), name: 'Mine', scopes: ['read'] })).name,
  // A token of any tenant is found by its hash, which only the owner of the secret can know.
  findToken: s => s.findToken(newHash()),
  listTokens: async s => (await s.listTokens()).items.filter(token => token.name !== 'Mine'),
  revokeToken: (s, { token }) => s.revokeToken(token),
  close: s => s.close(),
}

/** The result, with ids replaced by what they refer to. */
async function outcome(store: Store, call: (typeof calls)[Method], about: Known): Promise<string> {
  const answer = await call(store, about).catch((error: Error & { code: string }) => [
    error.code,
    error.message,
  ])
  const text = JSON.stringify(answer ?? null)
  const names = Object.entries({ ...about, prefix: about.id.slice(0, 8) })
  return names.reduce((told, [name, value]) => told.replaceAll(value, `<${name}>`), text)
}

/** All data of a tenant. */
async function dump(tenant: string): Promise<unknown> {
  const { rows } = await pool.query(
    `select relname as name from pg_class where relnamespace = 'skein'::regnamespace and relkind = 'r'
     and relname <> 'schema_version' order by 1`,
  )
  const tables: Record<string, unknown> = {}
  for (const { name } of rows) {
    const sql = `select to_jsonb(t) as row from skein.${name} t where tenant = $1 order by 1`
    tables[name] = (await pool.query(sql, [tenant])).rows
  }
  return tables
}

describe('a tenant that knows the ids of another tenant', () => {
  it.each(Object.keys(calls) as Method[])('learns and changes nothing with %s (R19)', async method => {
    const before = await dump('a')
    const told = await outcome(b, calls[method], known)
    expect(told).toBe(await outcome(b, calls[method], nothing))
    expect(await dump('a')).toEqual(before)
  })

  it('is tested with every method', () => {
    // `within` returns a store of the same tenant.
    const methods = Object.keys(a).filter(name => name !== 'leaseMs' && name !== 'within')
    expect(Object.keys(calls).sort()).toEqual(methods.sort())
  })

  it('would have an effect with each of them as the owner (negative control)', {
    timeout: 120_000,
  }, async () => {
    const silent: string[] = []
    for (const method of Object.keys(calls) as Method[]) {
      const store = await postgresStore(pool, { tenant: `owner ${method}`, indexing: 'manual' })
      const own = await furnish(store)
      if ((await outcome(store, calls[method], own)) === (await outcome(b, calls[method], nothing)))
        silent.push(method)
    }
    // These methods take no id.
    const silentOnes = ['create', 'sweep', 'compact', 'rebuildSearch', 'schemaVersion']
    expect(silent).toEqual([...silentOnes, 'submitTask', 'addToken', 'findToken', 'close'])
  })

  it('tenants share nothing in ten thousand interleaved calls on one pool (R19)', {
    timeout: 120_000,
  }, async () => {
    const stores = await Promise.all(
      [1, 2, 3, 4].map(n => postgresStore(pool, { tenant: `interleaved ${n}` })),
    )
    const own = await Promise.all(stores.map(furnish))
    const pairs = stores.flatMap((_, i) => own.map((_, j) => [i, j] as const))
    for (let round = 0; round < 125; round++) {
      const seen = await Promise.all(pairs.map(([i, j]) => look(stores[i]!, own[j]!)))
      const right = pairs.map(([i, j]) => (i === j ? whole(own[i]!) : missing(own[i]!)))
      expect(seen).toEqual(right)
    }

    function look(store: Store, about: Known): Promise<unknown[]> {
      return Promise.all([
        store.getConversation(about.id).then(({ id }) => id, codeOf),
        pathOf(store, about.last).then(path => path.length, codeOf),
        collectPages(page => store.listTurns(about.id, page)).then(turns => turns.length, codeOf),
        store.findByKey(about.key).then(found => found?.conversation.id),
        store.search('hidden').then(({ items }) => items.map(hit => hit.message.id)),
      ])
    }
  })
})

/** The view of a tenant on its own data, and on another's through the methods that take a name. */
const whole = ({ id, message }: Known) => [id, 2, 1, id, [message]]
const missing = ({ id, message }: Known) => ['not_found', 'not_found', 'not_found', id, [message]]

function codeOf(error: { code: string }): string {
  return error.code
}
