import { randomBytes } from 'node:crypto'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import type { ClaimedDispatch } from '../../src/core/task.ts'
import { holder } from '../../src/testing/contract/build.ts'
import { allOf, Kept, type Spot } from './hostile-spots.ts'

const kept = (text: unknown) => new Kept(text)
const idOf = (text: string) => text as ConversationId & MessageId

/** A dispatch of a new task that this caller runs. */
async function running(store: Store, worker = 'worker'): Promise<ClaimedDispatch> {
  const { id } = await store.submitTask({ description: 'to be done' })
  return (await store.claimThisDispatch(id, 1, { holder: holder(), worker }))!
}

/** A conversation whose last message waits for the approval `a1`. */
async function waiting(store: Store): Promise<ConversationId> {
  const { conversation, branch } = await store.create()
  const { head } = await store.append(branch, null, [{ role: 'assistant', content: 'I call rm.' }])
  const data = {
    ...{ approval: 'a1', call: 'c1', message: head, branch: branch.name, turn: 't1', name: 'rm' },
    ...{ input: {}, kind: 'delete', title: 'rm', preview: null, reason: null, scope: 'rm' },
  }
  await store.addEvents(conversation.id, [{ type: 'approval_requested', data }])
  return conversation.id
}

const claimOf = (task: string) => ({ task, n: 1, attempt: 1 })

/** The first item of an iteration that ends soon. */
async function firstOf<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of items) return item
  return undefined
}
const soon = () => AbortSignal.timeout(200)

/** Texts of tokens and tasks that are stored and read back. */
export const serviceStoring: Readonly<Record<string, Spot>> = {
  'addToken: name': async (store, _, name) => {
    const hash = randomBytes(32).toString('hex')
    await store.addToken({ hash, name, scopes: ['read'] })
    return kept((await store.findToken(hash))?.name)
  },
  'submitTask: fields': async (store, _, text) => {
    await store.submitTask({ id: text, project: text, description: text, context: text })
    const { id, project, description, context } = await store.getTask(text)
    return kept([id, project, description, context].every(one => one === text) ? text : null)
  },
  'dispatchTask: words': async (store, _, words) => {
    const { id } = await store.submitTask({ description: 'to be continued' })
    return kept((await store.dispatchTask(id, { words })).words)
  },
  'claimThisDispatch: worker': async (store, _, text) => kept((await running(store, text)).dispatch.worker),
  'answerApproval: by': async (store, _, by) =>
    kept((await store.answerApproval(await waiting(store), 'a1', { answer: 'deny', by })).answeredBy),
  'answerApproval: comment': async (store, _, comment) =>
    kept((await store.answerApproval(await waiting(store), 'a1', { answer: 'deny', comment })).comment),
  'finishDispatch: error': async (store, _, error) =>
    kept((await store.finishDispatch((await running(store)).claim, { status: 'failed', error })).error),
}

/** Texts that are used for lookups of tokens and tasks, and by the reads of a service. */
export const serviceAsking: Readonly<Record<string, Spot>> = {
  'findToken: hash': (store, _, text) => store.findToken(text),
  'listTokens: after': (store, _, text) => store.listTokens({ after: text }),
  'revokeToken: id': (store, _, text) => store.revokeToken(text),
  'getTask: id': (store, _, text) => store.getTask(`${text}?`),
  'getDispatch: id': (store, _, text) => store.getDispatch(`${text}?`, 1),
  'listDispatches: id': (store, _, text) => store.listDispatches(`${text}?`),
  'listTasks: project': (store, _, text) => store.listTasks({ project: `${text}?` }),
  'listTasks: after': (store, _, text) => store.listTasks({ after: text }),
  'listRunningDispatches: after': (store, _, text) => store.listRunningDispatches({ after: text }),
  'claimDispatch: project': (store, _, text) =>
    store.claimDispatch({ holder: holder(), worker: 'worker' }, { projects: [`${text}?`] }),
  'renewDispatch: task': (store, _, text) => store.renewDispatch(claimOf(`${text}?`)),
  'releaseDispatch: task': (store, _, text) => store.releaseDispatch(claimOf(`${text}?`)),
  'linkDispatch: conversation': async (store, _, text) =>
    store.linkDispatch((await running(store)).claim, idOf(text)),
  'reclaimDispatch: task': async (store, _, text) => {
    const { dispatch } = await running(store)
    return store.reclaimDispatch({ ...dispatch, task: `${text}?` })
  },
  'cancelTask: id': (store, _, text) => store.cancelTask(`${text}?`),
  'retryTask: id': (store, _, text) => store.retryTask(`${text}?`),
  'deleteTask: id': (store, _, text) => store.deleteTask(`${text}?`),
  'deleteProject: project': (store, _, text) => store.deleteProject(`${text}?`),
  'listApprovals: conversation': (store, _, text) => store.listApprovals({ conversationId: idOf(text) }),
  'getApproval: id': async (store, { id }, text) => store.getApproval(id, text),
  'versionsOf: id': async (store, _, text) => [...(await store.versionsOf([idOf(text)]))],
  'uniqueLengths: id': async (store, _, text) => [...(await store.uniqueLengths([idOf(text)]))].length,
  'readOverviews: id': async (store, _, text) => {
    const [one] = (await store.listConversations({ limit: 1 })).items
    return (await store.readOverviews([{ ...one!, id: idOf(text) }])).length
  },
  'readPathSection: id': (store, _, text) => store.readPathSection(idOf(text)),
  'follow: id': (store, _, text) => firstOf(store.follow(idOf(text), { signal: soon() })),
  'follow: after': (store, { id }, text) => firstOf(store.follow(id, { after: text, signal: soon() })),
  'followActivity: after': (store, _, text) => firstOf(store.followActivity({ after: text, signal: soon() })),
  'followTasks: after': (store, _, text) => firstOf(store.followTasks({ after: text, signal: soon() })),
  'ifVersion: id': (store, _, text) => store.ifVersion(idOf(text), 1).updateConversation(idOf(text), {}),
  'readTaskRecords: all': async store => (await allOf(store.readTaskRecords())).length,
}
