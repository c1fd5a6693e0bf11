import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import type { BranchRef } from '../../src/core/branch.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { median } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** How long each method of a store keeps the event loop from turning, in a store whose first conversation has
 *  a million messages. */

const parallel = 1_000
const tries = 3

interface FillArgs {
  readonly file: string
  readonly count: number
}

/** Turns of four messages of about 150 characters in one conversation, and many empty conversations. */
async function fill({ file, count }: FillArgs): Promise<null> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db)
  const { branch } = await store.create({ id: workId(0) as ConversationId, key: 'long', directory: '/work' })
  let head: MessageId | null = null
  for (let from = 0; from < count; from += 4) {
    if (from % 4_000 === 0) db.exec('BEGIN')
    const turn = {
      key: `turn-${from}`,
      step: 0,
      model: 'model-large-4',
      usage: { input: 12_000, output: 900 },
    }
    head = (await store.append(branch, head, messagesOf(from), { turn })).head
    if (from % 4_000 === 3_996) db.exec('COMMIT')
  }
  if (db.inTransaction) db.exec('COMMIT')
  db.exec('BEGIN')
  for (let i = 1; i <= parallel; i++) await store.create({ id: workId(i) as ConversationId })
  db.exec('COMMIT')
  await store.indexSearch()
  db.close()
  return null
}

const texts: string[] = []

function messagesOf(number: number): NewMessage[] {
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

/** Milliseconds of the longest block, per call. */
type Blocks = Record<string, number>

async function blocks({ file }: FillArgs): Promise<Blocks> {
  const store = await openSqliteStore(file)
  const main = { conversationId: workId(0) as ConversationId, name: 'main' }
  const head = (await store.getBranch(main)).head!
  const found: Blocks = {}
  const calls = {
    ...reads(store, main, head),
    ...searches(store),
    ...writes(store, main),
    ...turnsAndTasks(store),
    ...parallelAppends(store),
  }
  for (const [name, call] of Object.entries(calls)) found[name] = await blockOf(call)
  await store.close()
  return found
}

async function upkeepBlocks({ file }: FillArgs): Promise<Blocks> {
  const store = await openSqliteStore(file)
  const main = { conversationId: workId(0) as ConversationId, name: 'main' }
  const found: Blocks = {}
  for (const [name, call] of Object.entries(upkeep(store, main)))
    found[name] = (await longestBlock(call)).block
  await store.close()
  return found
}

type Calls = Record<string, () => Promise<unknown>>

function reads(store: Store, main: BranchRef, head: MessageId): Calls {
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
    measure: () => store.measure(new Date(0)),
    schemaVersion: () => store.schemaVersion(),
  }
}

function searches(store: Store): Calls {
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
  }
}

function writes(store: Store, main: BranchRef): Calls {
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
function turnsAndTasks(store: Store): Calls {
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
function parallelAppends(store: Store): Calls {
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

/** Work on everything, once. */
function upkeep(store: Store, main: BranchRef): Calls {
  const { conversationId: id } = main
  return {
    readRecords: async () => {
      for await (const _ of store.readRecords(id)) void _
    },
    verify: () => store.verify(),
    sweep: () => store.sweep(),
    trash: () => store.trash(id),
    restore: () => store.restore(id),
    rebuildSearch: () => store.rebuildSearch(),
    'indexSearch, of everything': () => store.indexSearch(),
    compact: () => store.compact(),
    purge: async () => {
      await store.trash(id)
      await store.purge(id)
    },
  }
}

async function blockOf(call: () => Promise<unknown>): Promise<number> {
  const found: number[] = []
  for (let i = 0; i < tries; i++) found.push((await longestBlock(call)).block)
  return median(found)
}

/** The longest time between two turns of the event loop during a call. */
async function longestBlock(call: () => Promise<unknown>): Promise<{ block: number }> {
  await new Promise(resolve => setTimeout(resolve, 20))
  let [block, isRunning] = [0, true]
  let last = performance.now()
  const beat = () => {
    const now = performance.now()
    block = Math.max(block, now - last)
    last = now
    if (isRunning) setImmediate(beat)
  }
  setImmediate(beat)
  await call()
  // Work that the call has put off, such as a checkpoint.
  for (let i = 0; i < 3; i++) await new Promise(resolve => setImmediate(resolve))
  isRunning = false
  return { block }
}

export const blockSuite: Suite = {
  name: 'block',
  when: 'byName',
  tasks: { fill, blocks, upkeepBlocks },
  async run(bench) {
    const count = bench.scale.searched
    const kept = join(bench.files, `block-${count}.db`)
    if (!existsSync(kept)) {
      const file = `${kept}-unfinished`
      await inFreshProcess({ suite: 'block', task: 'fill', args: { file, count } })
      renameSync(file, kept)
    }
    const args: FillArgs = { file: join(bench.place, 'block.db'), count }
    copyFileSync(kept, args.file)
    // Otherwise the first checkpoint waits for the whole copy.
    const copied = openSync(args.file, 'r+')
    fsyncSync(copied)
    closeSync(copied)
    const found = {
      ...(await inFreshProcess<Blocks>({ suite: 'block', task: 'blocks', args })),
      ...(await inFreshProcess<Blocks>({ suite: 'block', task: 'upkeepBlocks', args })),
    }
    const at = `${count.toLocaleString('en')} messages`
    return Object.entries(found).map(([name, ms]): Line => {
      const isLarge = name.endsWith('10 MB')
      return {
        work: `longest block at ${at}: ${name}`,
        ours: time(ms * 1_000),
        ...(isLarge
          ? { note: `${(ms / 10).toFixed(1)} ms per MB` }
          : { value: ms, goal: 50, note: 'the goal is in ms' }),
      }
    })
  },
}
