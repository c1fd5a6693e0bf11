import type { EventType } from '../../src/core/event.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import { contentOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import type { BranchInConversation, Store } from '../../src/core/ports.ts'
import type { StoreRecord, UnreadableRecord } from '../../src/core/record.ts'
import type { Turn } from '../../src/core/turn.ts'
import { holder, say } from '../../src/testing/contract/build.ts'
import { isFull } from './size.ts'

/** A conversation for trying texts. The turn `open` is open and holds the branch `held`. */
export interface Ground extends BranchInConversation {
  readonly id: ConversationId
  readonly ids: readonly MessageId[]
}

/** Passes a text to one argument of a method. The result must be the same on every engine, and so must the
 *  error; if it returns `kept(…)`, that must be the text. */
export type Spot = (store: Store, ground: Ground, text: string) => Promise<unknown>

/** A stored text as it was read back. */
export class Kept {
  readonly text: unknown

  constructor(text: unknown) {
    this.text = text
  }
}

const kept = (text: unknown) => new Kept(text)

/** The fixture of one text: a branch `main` of three messages, and one `held` with an open turn. */
export async function prepareGround(store: Store): Promise<Ground> {
  const { conversation, branch } = await store.create()
  const { id } = conversation
  const words = [say('one'), say('two', 'assistant'), say('three')] as const
  const { ids } = await store.append(branch, null, words)
  const held = await store.createBranch(id, ids[0], { name: 'held' })
  const turn = { key: 'open', step: 0, status: 'open', holder: holder() } as const
  await store.append(held, ids[0], [say('asked')], { turn })
  return { conversation, branch, id, ids }
}

const ref = ({ id }: Ground, name = 'main') => ({ conversationId: id, name })
const messageOf = async (store: Store, id: MessageId) => (await store.getMessages([id]))[0]!

/** Texts that are stored and read back. */
export const storing: Readonly<Record<string, Spot>> = {
  'create: key': async (store, _, key) => {
    await store.create({ key })
    return kept((await store.findByKey(key))?.branch.key)
  },
  'create: fields': async (store, _, text) => {
    const { conversation } = await store.create({ title: text, model: text, label: text, tags: [text] })
    const { title, model, label, tags } = await store.getConversation(conversation.id)
    return kept(
      [title, model, label, ...tags].every(one => one === text) ? text : [title, model, label, tags],
    )
  },
  'create: metadata': async (store, _, text) => {
    const { conversation } = await store.create({ metadata: Object.fromEntries([[text, [text]]]) })
    const [[key, value] = []] = Object.entries((await store.getConversation(conversation.id)).metadata)
    return kept(JSON.stringify(value) === JSON.stringify([text]) ? key : value)
  },
  'findOrCreate: key': async (store, _, key) => kept((await store.findOrCreate(key)).branch.key),
  'findOrCreateByTask: task': async (store, _, text) =>
    kept((await store.findOrCreateByTask(text, { project: text })).conversation.task),
  'updateConversation: title': async (store, { id }, title) =>
    kept((await store.updateConversation(id, { title })).title),
  'updateConversation: links': async (store, { id }, text) => {
    const links = { channel: text, directory: text, project: text, task: text, owner: text }
    const { channel, directory, project, task, owner } = await store.updateConversation(id, links)
    return kept([channel, directory, project, task, owner].every(one => one === text) ? text : null)
  },
  'updateConversation: prompt': async (store, { id }, prompt) =>
    kept((await store.updateConversation(id, { prompt })).prompt?.text),
  'append: text': async (store, ground, text) => {
    const { head } = await store.append(ref(ground), ground.ids[2]!, [say(text)])
    return kept(contentOf(await messageOf(store, head)))
  },
  'append: blocks': async (store, ground, text) => {
    const blocks = [
      { type: 'tool_call', callId: text, name: text, input: Object.fromEntries([[text, text]]) },
      { type: 'tool_result', callId: text, output: text },
      { type: 'thinking', text, signature: text },
      { type: 'file', data: text, mediaType: text, name: text },
    ] as const
    const head = (await store.getBranch(ref(ground))).head
    const appended = await store.append(ref(ground), head, [
      { role: 'assistant', content: blocks, metadata: { [text]: text } },
    ])
    const { content: read, metadata: meta } = await messageOf(store, appended.head)
    const same = JSON.stringify([read, meta]) === JSON.stringify([blocks, { [text]: text }])
    return kept(same ? text : [read, meta])
  },
  'append: label': async (store, ground, label) => {
    const head = (await store.getBranch(ref(ground))).head
    const appended = await store.append(ref(ground), head, [{ ...say('labelled'), label }])
    return kept((await messageOf(store, appended.head)).label)
  },
  'append: turn': async (store, ground, text) => {
    const head = (await store.getBranch(ref(ground))).head
    await store.append(ref(ground), head, [say('x')], { turn: { key: text, step: 0, model: text } })
    return kept(
      (await collectPages(page => store.listTurns(ground.id, page))).find(
        ({ key, model }) => key === text && model === text,
      )?.key,
    )
  },
  'save: text': async (store, { id, ids }, text) => {
    const saved = await store.save(id, [{ message: { ...say(text, 'assistant') }, parent: ids[1]! }])
    return kept(contentOf(await messageOf(store, saved[0])))
  },
  'setLabel: label': async (store, { ids }, label) => {
    await store.setLabel(ids[1]!, label)
    return kept((await messageOf(store, ids[1]!)).label)
  },
  'createBranch: name': async (store, { id, ids }, name) => {
    await store.createBranch(id, ids[0]!, { name, title: name })
    const { name: read, title } = await store.getBranch({ conversationId: id, name })
    return kept(title === read ? read : [read, title])
  },
  'renameBranch: name': async (store, { id, ids }, name) => {
    const side = await store.createBranch(id, ids[0]!, { name: 'to be renamed' })
    return kept((await store.renameBranch(side, `${name}~`)).name.slice(0, -1))
  },
  'setKey: key': async (store, ground, key) =>
    kept((await store.setKey(ref(ground), `${key}!`)).key?.slice(0, -1)),
  'setAgentLink: link': async (store, ground, text) => {
    const link = { agent: text, directory: text, foreignId: text, seen: null }
    await store.setAgentLink(ref(ground), link)
    const [read] = await collectPages(page => store.listAgentLinks(ref(ground), page))
    return kept(read?.agent === text && read.directory === text ? read.foreignId : read)
  },
  'putDraft: text': async (store, { id }, text) => {
    const n = (await collectPages(page => store.readDraft(id, 'open', page))).length
    await store.putDraft(id, 'open', holder(), [{ n, type: 'text', text }])
    return kept((await collectPages(page => store.readDraft(id, 'open', page))).at(-1)!.text)
  },
  'addEvents: data': async (store, { id }, text) => {
    await store.addEvents(id, [{ type: 'plan', data: Object.fromEntries([[text, text]]) }])
    const [event] = (await store.listEvents(id, { order: 'descending', limit: 1 })).items
    return kept(Object.keys(event!.data)[0] === text ? event!.data[text] : event)
  },
  'claimSummary: holder': async (store, { id, ids }, host) => {
    const range = { first: ids[0]!, last: ids[2]! }
    await store.claimSummary(id, range, { ...holder(), host })
    const put = store.putSummary(id, {
      ...range,
      tokens: 1,
      text: host,
      model: host,
      holder: { ...holder(), host },
    })
    const { text, model } = await put
    return kept(text === model ? text : [text, model])
  },
  'putSummary: text': async (store, { id, ids }, text) => {
    const range = { first: ids[1]!, last: ids[2]! }
    await store.claimSummary(id, range, holder())
    await store.putSummary(id, { ...range, tokens: 1, text, holder: holder() })
    const found = (await collectPages(page => store.listSummaries(id, page))).find(
      one => one.first === range.first,
    )
    return kept(found?.text)
  },
  'eraseMessages: by': async (store, { id }, text) => {
    const [doomed] = await store.save(id, [{ message: say('to be erased'), parent: null }])
    await store.eraseMessages([doomed], { by: text, reason: text })
    const { erased } = await messageOf(store, doomed)
    return kept(erased?.by === erased?.reason ? erased?.by : erased)
  },
}

const idOf = (text: string) => text as ConversationId & MessageId

/** One record of each kind, repeatedly, each time with the text in another field; in the gate in a quarter of
 *  the fields, another quarter for each length of text. */
function oddRecords(
  records: readonly (StoreRecord | UnreadableRecord)[],
  text: string,
): readonly StoreRecord[] {
  const kinds = [...Map.groupBy(records, ({ kind }) => kind).values()].map(of => of[0]!)
  const odd = kinds.flatMap(record =>
    Object.entries(record)
      .filter(([field, value]) => field !== 'kind' && (typeof value === 'string' || value === null))
      .map(([field]) => ({ ...record, [field]: text })),
  )
  const some = odd.filter((_, i) => isFull || (i + text.length) % 4 === 0)
  return some as readonly StoreRecord[]
}

/** Texts that are used for lookups. */
export const asking: Readonly<Record<string, Spot>> = {
  'measureConversation: id': (store, _, text) => store.measureConversation(idOf(text)),
  'getConversation: id': (store, _, text) => store.getConversation(idOf(text)),
  'versionOf: id': (store, _, text) => store.versionOf(idOf(text)),
  'getBranch: name': (store, ground, text) => store.getBranch(ref(ground, text)),
  'listBranches: id': (store, _, text) => collectPages(page => store.listBranches(idOf(text), page)),
  'findByKey: key': (store, _, text) => store.findByKey(`${text}?`),
  'findByTask: task': (store, _, text) => store.findByTask(`${text}?`),
  'findByAgentLink: agent': (store, _, text) => store.findByAgentLink(text, `${text}?`),
  'listAgentLinks: name': (store, ground, text) =>
    collectPages(page => store.listAgentLinks(ref(ground, text), page)),
  'resolve: text': (store, _, text) => store.resolve(text),
  'resolve: branch': (store, { id }, text) => store.resolve(`${id}:${text}`),
  'getMessages: id': (store, { ids }, text) => store.getMessages([ids[0]!, idOf(text)]),
  'listPath: id': (store, _, text) => store.listPath(idOf(text)),
  'listPath: after': (store, { ids }, text) => store.listPath(ids[2]!, { after: text }),
  'tail: id': (store, _, text) => store.tail(idOf(text), { messages: 3 }),
  'findWithTail: key': (store, _, text) => store.findWithTail(`${text}?`, { messages: 3 }),
  'findWithTail: name': (store, ground, text) => store.findWithTail(ref(ground, text), { messages: 3 }),
  'findWithTail: id': (store, _, text) =>
    store.findWithTail({ conversationId: idOf(text), name: 'main' }, { messages: 3 }),
  'listStretches: id': (store, _, text) => store.listStretches(idOf(text)),
  'findTurn: key': (store, { id }, text) => store.findTurn(id, text),
  'readBlob: hash': (store, _, text) => store.readBlob(text),
  'readRecords: id': (store, _, text) => allOf(store.readRecords(idOf(text))),
  'writeRecords: every text of a record': async (store, { id }, text) =>
    store.writeRecords(oddRecords(await allOf(store.readRecords(id)), text)),
  'listTurns: status': (store, { id }, text) =>
    collectPages(page => store.listTurns(id, { status: text as Turn['status'], ...page })),
  'readDraft: key': (store, { id }, text) => collectPages(page => store.readDraft(id, text, page)),
  'listSummaries: id': (store, _, text) => collectPages(page => store.listSummaries(idOf(text), page)),
  'listEvents: type': (store, { id }, text) =>
    collectPages(page => store.listEvents(id, { types: [text as EventType], ...page })),
  'findOrCreate: id': (store, _, text) => store.findOrCreate('the key of an odd id', { id: idOf(text) }),
  'append: expected head': (store, ground, text) => store.append(ref(ground), idOf(text), [say('x')]),
  'append: sibling': (store, ground, text) =>
    store.append(ref(ground), idOf(text), [say('x')], { onConflict: 'fork' }),
  'save: parent': (store, { id }, text) => store.save(id, [{ message: say('x'), parent: idOf(text) }]),
  'deleteBranch: name': (store, ground, text) => store.deleteBranch(ref(ground, `${text}?`)),
  'moveBranch: to': (store, ground, text) => store.moveBranch(ref(ground), ground.ids[2]!, idOf(text)),
  'activateBranch: name': (store, ground, text) => store.activateBranch(ref(ground, `${text}?`)),
  'removeAgentLink: agent': (store, ground, text) => store.removeAgentLink(ref(ground), text, `${text}?`),
  'reset: name': (store, ground, text) => store.reset(ref(ground, `${text}?`)),
  'renewTurn: key': (store, { id }, text) => store.renewTurn(id, text, holder()),
  'endTurn: key': (store, { id }, text) => store.endTurn(id, text, { status: 'complete', heldBy: holder() }),
  'endTurn: holder': (store, { id }, host) =>
    store.endTurn(id, 'open', { status: 'complete', heldBy: { ...holder(), host } }),
  'reopenTurn: name': (store, ground, text) => store.reopenTurn(ref(ground, `${text}?`), holder()),
  'claimSummary: range': (store, { id, ids }, text) =>
    store.claimSummary(id, { first: ids[0]!, last: idOf(text) }, holder()),
  'listConversations: filters': async (store, _, text) => {
    const found = await Promise.all([
      ...(['channel', 'directory', 'project', 'task', 'title', 'tag', 'keyPrefix'] as const).map(field =>
        outcomeOf(() => store.listConversations({ [field]: text })),
      ),
      outcomeOf(() => store.listConversations({ metadata: Object.fromEntries([[text, text]]) })),
    ])
    return found.map(one => ('value' in one ? one.value.items.map(({ id }) => id) : one))
  },
  'listConversations: after': (store, _, text) => store.listConversations({ after: text }),
  'countConversations: title': (store, _, text) => store.countConversations({ title: text }),
  'listDirectories: within': (store, _, text) => store.listDirectories({ within: text, limit: 5 }),
  'listDirectories: after': (store, _, text) => store.listDirectories({ after: text }),
  'listMessages: label': (store, { id }, text) => store.listMessages({ conversationId: id, label: text }),
  'listMessages: after': (store, { id }, text) => store.listMessages({ conversationId: id, after: text }),
  'search: query': async (store, _, text) =>
    (await store.search(text, { limit: 5 })).items.map(({ message, snippet }) => [message.id, snippet]),
  'search: directory': async (store, _, text) =>
    (await store.search('one', { directory: text, limit: 2 })).items.map(({ message }) => message.id),
  'search: after': (store, _, text) => store.search('one', { after: text }),
  'deleteMessages: reason': async (store, { id }, reason) => {
    const [doomed] = await store.save(id, [{ message: say('to be deleted'), parent: null }])
    // What remains differs between the engines.
    const { remains: _, ...receipt } = await store.deleteMessages([doomed], { reason })
    return receipt
  },
  'moveKey: to': (store, ground, text) => store.moveKey(ref(ground), text),
  'trash: id': (store, _, text) => store.trash(idOf(text)),
  'restore: id': (store, _, text) => store.restore(idOf(text)),
  'purge: id': (store, _, text) => store.purge(idOf(text)),
}

/** All items of an async iterable, as a list. */
export async function allOf<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

/** Methods of a store without text arguments, or covered by other tests. */
export const textless = {
  sweep: 'takes no text',
  indexSearch: 'takes no text',
  rebuildSearch: 'takes no text',
  schemaVersion: 'takes no text',
  close: 'takes no text',
  measure: 'takes no text',
  compact: 'takes no text',
  countTasks: 'takes no text',
  verify: 'reads what is there',
  leaseMs: 'is a number',
}

/** The outcome of a call: its value, or the machine-readable part of its error. Errors that are not ours are
 *  rethrown. */
export type Outcome<T> = { readonly value: T } | { readonly code: string; readonly error: string }

export async function outcomeOf<T>(call: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await call() }
  } catch (error) {
    const { code, message, name } = error as Error & { code?: string }
    if (!name.endsWith('Error') || code === undefined || !/^[a-z_]+$/.test(code)) throw error
    return { code, error: `${name}: ${message}` }
  }
}
