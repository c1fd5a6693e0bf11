import { createHash } from 'node:crypto'
import type { BranchRef } from '../../src/core/branch.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import type { StoreRecord } from '../../src/core/record.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { commonWords, makeTurn, workId } from '../workload.ts'

/** The calls whose blocks are measured, by name. */
export const parallel = 1_000

const texts: string[] = []

export function messagesOf(number: number): NewMessage[] {
  if (texts.length === 0) {
    for (let i = 0; i < 1_000; i++) texts.push((makeTurn(i).messages[0].content[0] as { text: string }).text)
  }
  const say = (i: number) => `${number + i} ${texts[(number + i) % 1_000]!.slice(0, 150)}`
  return [
    { role: 'user', content: say(0) },
    {
      role: 'assistant',
      content: [{ type: 'tool_call', callId: 'c', name: 'read', input: { path: say(1) } }],
    },
    { role: 'tool_result', content: [{ type: 'tool_result', callId: 'c', output: say(2) }] },
    { role: 'assistant', content: say(3) },
  ]
}

export type Calls = Record<string, () => Promise<unknown>>

export function reads(store: Store, main: BranchRef, head: MessageId): Calls {
  const { conversationId: id } = main
  return {
    getConversation: () => store.getConversation(id),
    versionOf: () => store.versionOf(id),
    getBranch: () => store.getBranch(main),
    listBranches: () => store.listBranches(id),
    findByKey: () => store.findByKey('long'),
    resolve: () => store.resolve(id.slice(0, 8)),
    getMessages: () => store.getMessages([head]),
    listPath: () => store.listPath(head, { limit: 1_000 }),
    'listPath, the newest': () => store.listPath(head),
    'tail of 128k tokens': () => store.tail(head, { tokens: 128_000 }),
    'findWithTail, by a key': () => store.findWithTail('long', { tokens: 128_000 }),
    'findWithTail, with summaries': () => store.findWithTail(main, { messages: 40 }, { summaries: 10 }),
    listStretches: () => store.listStretches(id),
    listTurns: () => store.listTurns(id),
    'listTurns, newest first': () => store.listTurns(id, { order: 'descending', limit: 1_000 }),
    findTurn: () => store.findTurn(id, 'turn-0'),
    listSummaries: () => store.listSummaries(id),
    listEvents: () => store.listEvents(id),
    listConversations: () => store.listConversations({ limit: 1_000 }),
    countConversations: () => store.countConversations(),
    listDirectories: () => store.listDirectories(),
    listMessages: () => store.listMessages({ conversationId: id, limit: 1_000 }),
    'listMessages of a rare role': () => store.listMessages({ conversationId: id, roles: ['system'] }),
    'listMessages of a role': () =>
      store.listMessages({ conversationId: id, roles: ['assistant'], limit: 1_000 }),
    findByTask: () => store.findByTask('none'),
    findByAgentLink: () => store.findByAgentLink('agent', 'none'),
    listAgentLinks: () => store.listAgentLinks(main),
    readDraft: () => store.readDraft(id, 'turn-0'),
    readOverviews: async () => store.readOverviews((await store.listConversations({ limit: 200 })).items),
    versionsOf: () => store.versionsOf([id]),
    uniqueLengths: () => store.uniqueLengths([id]),
    listApprovals: () => store.listApprovals(),
    'getApproval, answerApproval of an unknown request': async () => {
      await store.getApproval(id, 'none').catch(refused)
      await store.answerApproval(id, 'none', { answer: 'deny' }).catch(refused)
    },
    measureConversation: () => store.measureConversation(id),
    measure: () => store.measure(new Date(0)),
    schemaVersion: () => store.schemaVersion(),
  }
}

export function searches(store: Store): Calls {
  const words = 'error function value string number list index store message'
  return {
    'search, common': () => store.search('error'),
    'search, ranked': () => store.search('error function', { order: 'ranked' }),
    'search, phrase': () => store.search('"error function"'),
    'search, common prefix': () => store.search('re*'),
    'search, phrase with a common prefix': () => store.search('"error re*"'),
    'search in another directory': () => store.search('error', { directory: '/none' }),
    'search by prefix in another directory': () => store.search('re*', { directory: '/none' }),
    'search, nine common words without a match': () => store.search(words),
    'search, sixty common words without a match': () => store.search(commonWords.slice(28, 88).join(' ')),
  }
}

export function writes(store: Store, main: BranchRef): Calls {
  const { conversationId: id } = main
  let made = 0
  const ofSize = (bytes: number) => async () => {
    const { branch } = await store.create()
    const before = performance.now()
    await store.append(branch, null, [{ role: 'user', content: `${made++}${'word '.repeat(bytes / 5)}` }])
    return before
  }
  const append = async (messages: readonly NewMessage[]) =>
    store.append(main, (await store.getBranch(main)).head, messages)
  return {
    create: () => store.create(),
    findOrCreate: () => store.findOrCreate(`key-${made++}`),
    updateConversation: () => store.updateConversation(id, { title: `title ${made++}` }),
    'append a turn': () => append(messagesOf(made++)),
    'append a message of 1 MB': ofSize(1_000_000),
    'append a message of 10 MB': ofSize(10_000_000),
    createBranch: async () =>
      store.createBranch(id, (await store.getBranch(main)).head, { name: `b${made++}` }),
    addEvents: () => store.addEvents(id, [{ type: 'plan' }]),
    deleteMessages: async () => {
      const { ids } = await append(messagesOf(made++))
      return store.deleteMessages(ids, { recursive: true })
    },
    eraseMessages: async () => {
      const { ids } = await append(messagesOf(made++))
      return store.eraseMessages(ids, { by: 'bench', reason: 'measured' })
    },
  }
}

/** Writes to a new conversation each time. */
export function turnsAndTasks(store: Store): Calls {
  const holder = { host: 'bench', boot: 'bench', pid: 1, startedAt: 1 }
  const claim = { holder, worker: 'bench' }
  let made = 0
  const opened = async () => {
    const { branch } = await store.create()
    const turn = { key: `open-${made++}`, step: 0, status: 'open', holder } as const
    const { head } = await store.append(branch, null, messagesOf(made), { turn })
    return { branch, head, id: branch.conversationId, key: turn.key }
  }
  const said = async () => {
    const { branch } = await store.create()
    const { head, ids } = await store.append(branch, null, messagesOf(made++))
    return { branch, head, id: branch.conversationId, range: { first: ids[0], last: head } }
  }
  return {
    'putDraft, renewTurn, endTurn': async () => {
      const { id, key } = await opened()
      await store.putDraft(id, key, holder, [{ n: 0, type: 'text', text: 'piece' }])
      await store.renewTurn(id, key, holder)
      await store.endTurn(id, key, { status: 'complete', heldBy: holder })
    },
    reopenTurn: async () => {
      const { branch, id, key } = await opened()
      await store.endTurn(id, key, { status: 'interrupted', heldBy: holder })
      await store.reopenTurn(branch, holder)
    },
    'claimSummary, putSummary': async () => {
      const { id, range } = await said()
      await store.claimSummary(id, range, holder)
      await store.putSummary(id, { ...range, tokens: 10, text: 'short', holder })
    },
    'save, setLabel': async () => {
      const { id, head } = await said()
      const [saved] = await store.save(id, [{ message: { role: 'user', content: 'more' }, parent: head }])
      await store.setLabel(saved, 'kept')
    },
    'renameBranch, activateBranch, moveBranch, deleteBranch': async () => {
      const { id, head } = await said()
      const { name } = await store.createBranch(id, head, { name: 'other' })
      const other = { conversationId: id, name }
      await store.activateBranch(other)
      await store.moveBranch(other, head, null)
      await store.activateBranch({ conversationId: id, name: 'main' })
      await store.renameBranch(other, 'again')
      await store.deleteBranch({ conversationId: id, name: 'again' })
    },
    'setKey, moveKey, setAgentLink, removeAgentLink, reset': async () => {
      const { branch, id, head } = await said()
      await store.setKey(branch, `moved-${made}`)
      await store.createBranch(id, head, { name: 'other' })
      await store.moveKey(branch, 'other')
      await store.setAgentLink(branch, { agent: 'a', directory: '/d', foreignId: `f-${made}`, seen: head })
      await store.removeAgentLink(branch, 'a', '/d')
      await store.reset(branch)
    },
    'submitTask, claimDispatch, finishDispatch': async () => {
      const { id } = await store.submitTask({ description: 'work' })
      const claimed = await store.claimDispatch(claim)
      await store.finishDispatch(claimed!.claim, { status: 'done', result: { ok: true } })
      await store.getTask(id)
      await store.listTasks()
      await store.countTasks()
    },
  }
}

/** As if a thousand agents got the result of a tool in the same tick. */
export function parallelAppends(store: Store): Calls {
  const ids = Array.from({ length: parallel }, (_, i) => workId(i + 1) as ConversationId)
  return {
    [`${parallel.toLocaleString('en')} tool results at once`]: () =>
      Promise.all(
        ids.map(async id => {
          const ref = { conversationId: id, name: 'main' }
          return store.append(ref, (await store.getBranch(ref)).head, [messagesOf(0)[2]!])
        }),
      ),
  }
}

/** As if a service got so many requests in the same tick. */
export function parallelReads(store: Store, head: MessageId): Calls {
  const at = (count: number, call: () => Promise<unknown>) => () =>
    Promise.all(Array.from({ length: count }, call))
  return {
    [`${parallel.toLocaleString('en')} tails of 40 messages at once`]: at(parallel, () =>
      store.tail(head, { messages: 40 }),
    ),
    '64 contexts of 100k tokens at once': at(64, () => store.tail(head, { tokens: 100_000 })),
    '64 searches by rank at once': at(64, () => store.search('error function', { order: 'ranked' })),
    '64 searches of a common word in another directory at once': at(64, () =>
      store.search('error', { directory: '/elsewhere' }),
    ),
  }
}

/** A conversation as records, as many as an import writes at once. */
export async function importedRecords(): Promise<readonly StoreRecord[]> {
  await using other = await openSqliteStore(':memory:', { indexing: 'manual' })
  const { conversation, branch } = await other.create()
  let head: MessageId | null = null
  for (let n = 0; n < 1_000; n += 4) head = (await other.append(branch, head, messagesOf(n))).head
  const records: StoreRecord[] = []
  for await (const record of other.readRecords(conversation.id))
    if (record.kind !== 'unreadable') records.push(record)
  return records
}

/** `batches` has one for each call. */
export function imports(store: Store, batches: readonly (readonly StoreRecord[])[]): Calls {
  let next = 0
  return { 'writeRecords, 1,000 messages': () => store.writeRecords(batches[next++]!) }
}

/** What the service, the dispatcher and transfers call. */
export function others(store: Store, main: BranchRef, head: MessageId): Calls {
  const holder = { host: 'bench', boot: 'bench', pid: 1, startedAt: 1 }
  const claim = { holder, worker: 'bench' }
  let made = 0
  const firstOf = async (events: AsyncIterable<unknown>) => {
    for await (const event of events) return event
    return null
  }
  return {
    readPathSection: () => store.readPathSection(head, { limit: 1_000 }),
    readBlob: async () => {
      const { branch } = await store.create()
      const { head: at } = await store.append(branch, null, [
        { role: 'user', content: `${made++}${'blob '.repeat(100_000)}` },
      ])
      const [message] = await store.getMessages([at], { blobs: 'preview' })
      await store.readBlob(message!.blobs[0]!.hash)
    },
    findOrCreateByTask: () => store.findOrCreateByTask(`task-${made++}`),
    ifVersion: async () => {
      const version = await store.versionOf(main.conversationId)
      await store
        .ifVersion(main.conversationId, version)
        .updateConversation(main.conversationId, { label: 'x' })
    },
    'the other methods for tasks': async () => {
      const project = `project-${made++}`
      const { id } = await store.submitTask({ description: 'work', project })
      const { branch } = await store.create()
      const claimed = (await store.claimThisDispatch(id, 1, claim))!
      await store.renewDispatch(claimed.claim)
      await store.linkDispatch(claimed.claim, branch.conversationId)
      await store.listRunningDispatches()
      await store.releaseDispatch(claimed.claim)
      await store.claimThisDispatch(id, 1, claim)
      await store.reclaimDispatch(await store.getDispatch(id, 1))
      const again = (await store.claimThisDispatch(id, 1, claim))!
      await store.finishDispatch(again.claim, { status: 'failed', error: 'measured' })
      await store.retryTask(id)
      await store.cancelTask(id)
      await store.dispatchTask(id)
      await store.listDispatches(id)
      await store.cancelTask(id)
      await store.deleteTask(id)
      await store.submitTask({ description: 'work', project })
      await store.deleteProject(project)
      for await (const _ of store.readTaskRecords()) void _
    },
    'addToken, findToken, listTokens, revokeToken': async () => {
      const hash = createHash('sha256').update(`token ${made++}`).digest('hex')
      const { id } = await store.addToken({ hash, name: 'bench', scopes: ['read'] })
      await store.findToken(hash)
      await store.listTokens()
      await store.revokeToken(id)
    },
    follow: async () => {
      const following = firstOf(store.follow(main.conversationId))
      await store.addEvents(main.conversationId, [{ type: 'plan' }])
      await following
    },
    followActivity: async () => {
      const following = firstOf(store.followActivity({ since: new Date() }))
      await store.addEvents(main.conversationId, [{ type: 'plan' }])
      await following
    },
    followTasks: async () => {
      const following = firstOf(store.followTasks({ since: new Date() }))
      await store.submitTask({ description: 'work' })
      await following
    },
  }
}

/** The error is the outcome that is measured. */
function refused(): undefined {}
