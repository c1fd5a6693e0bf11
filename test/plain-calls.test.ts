import { afterAll, describe, expect, it } from 'vitest'
import { createHost } from '../src/acp/host/host.ts'
import { recordTo } from '../src/adapters/ai-sdk/record-to.ts'
import { createAgent } from '../src/agent/agent.ts'
import { allowTools } from '../src/agent/approval/approval.ts'
import { codingTools } from '../src/agent/coding/coding-tools.ts'
import { openMcpTools } from '../src/agent/mcp/open-mcp-tools.ts'
import { recallTools } from '../src/agent/recall/recall-tools.ts'
import { subagent } from '../src/agent/subagent.ts'
import { tool } from '../src/agent/tools/tool.ts'
import { createClient } from '../src/client/client.ts'
import { fit } from '../src/context/fit/fit.ts'
import { windowOf } from '../src/context/fit/model-windows.ts'
import { readContext } from '../src/context/read-context.ts'
import { summarize } from '../src/context/summary/summarize.ts'
import { asText } from '../src/context/text/as-text.ts'
import { repair } from '../src/context/view/view.ts'
import { InvalidError } from '../src/core/errors.ts'
import { textOf } from '../src/core/message.ts'
import { takeIn } from '../src/core/take-in.ts'
import { buildForest } from '../src/core/tree.ts'
import { createDispatcher } from '../src/dispatch/dispatcher.ts'
import { createWorker } from '../src/dispatch/worker.ts'
import { createMcpEndpoint } from '../src/mcp/endpoint.ts'
import { scripted } from '../src/models/scripted.ts'
import { beginTurn } from '../src/recorder/begin-turn.ts'
import { listen } from '../src/server/listen.ts'
import { createService } from '../src/server/service.ts'
import { openStore } from '../src/stores/open.ts'
import { postgresStore } from '../src/stores/postgres/index.ts'
import { sqliteStore } from '../src/stores/sqlite/index.ts'
import { storeOver } from '../src/stores/store/store-over.ts'

const store = await openStore(':memory:')
afterAll(() => store.close())
const model = scripted({ script: ['x'] })

/** A call as a program in plain JavaScript may make it. */
type Call = (...args: unknown[]) => unknown

const [make, ask, define, record, begin, mcp, serve, open] = [
  createAgent,
  createAgent({ store, model }).ask,
  tool,
  recordTo,
  beginTurn,
  openMcpTools,
  createService,
  openStore,
] as unknown as readonly Call[]
const methods = store as unknown as Readonly<Record<string, Call>>
const [fitPlain, readPlain] = [fit, readContext] as unknown as readonly Call[]

/** A function as plain JavaScript calls it. */
const plain = (call: unknown) => call as Call

describe('a wrong argument in plain JavaScript', () => {
  it.each<readonly [string, () => unknown, string]>([
    ['openStore(42)', () => open!(42), 'target: must be text, got number'],
    ['createAgent()', () => make!(), 'options: must be an object, got undefined'],
    ['createAgent with a file name', () => make!({ model, store: 'a.db' }), 'store: must be a store'],
    [
      'createAgent with other tools',
      () => make!({ model, tools: [() => 1] }),
      'tools: 0 must be made with tool()',
    ],
    ['ask()', () => ask!(), 'words: must be a text or a message, got undefined'],
    ['ask with a number', () => ask!('k', 5), 'words: must be a text or a message, got number'],
    ['ask of a number', () => ask!(5, 'x'), 'target: must be a key'],
    ['tool()', () => define!(), 'tool: must be a definition'],
    [
      'tool without run',
      () => define!({ input: { type: 'object' } }),
      'run: must be a function, got undefined',
    ],
    ['openMcpTools(5)', () => mcp!(5), 'servers: must be an object of servers'],
    ['recordTo()', () => record!(), 'store: must be a store'],
    ['recordTo without a key', () => record!(store), 'where: must be a key or a branch, got undefined'],
    [
      'tools() of a recorder',
      () => (recordTo(store, 'k').tools as Call)(),
      'tools: must be an object of tools',
    ],
    ['append()', () => methods.append!(), 'branch: must be a branch, got undefined'],
    ['answerApproval()', () => methods.answerApproval!(), 'answer: must be an object, got undefined'],
    ['listConversations of a text', () => methods.listConversations!('x'), 'options: must be an object'],
    ['beginTurn without a branch', () => begin!(store), 'branch: must be a branch'],
    ['beginTurn without words', () => begin!(store, {}), 'options: must be an object with words'],
    ['fit()', () => fitPlain!([]), 'window: must be a window'],
    ['readContext without a window', () => readPlain!(store, null), 'window: must be a window'],
    ['createService()', () => serve!(), 'options: must be an object'],
    [
      'openStore with an option of another name',
      () => open!(':memory:', { durabilty: 'normal' }),
      'durabilty',
    ],
    ['openStore with a text', () => open!(':memory:', 'normal'), 'options: must be an object, got string'],
    [
      'openStore with another durability',
      () => open!(':memory:', { durability: 'fast' }),
      'durability: must be one of full, normal',
    ],
    [
      'openStore with other indexing',
      () => open!(':memory:', { indexing: 'never' }),
      'indexing: must be one of background, manual',
    ],
    [
      'append with a text as options',
      () => methods.append!({}, null, [], 'turn'),
      'options: must be an object',
    ],
    ['eraseMessages()', () => methods.eraseMessages!(), 'erasure: must be an object with by and reason'],
    ['verify of a text', () => methods.verify!('x'), 'options: must be an object'],
    ['textOf()', () => plain(textOf)(), 'message: must be a message, got undefined'],
    ['textOf of a number', () => plain(textOf)({ content: 5 }), 'message: must be a message, got number'],
    ['sqliteStore of a path', () => plain(sqliteStore)('a.db'), 'db: must be a handle of better-sqlite3'],
    ['postgresStore of a URL', () => plain(postgresStore)('postgres://db/app'), 'pool: must be a pool of pg'],
    ['a window of a number', () => make!({ model, window: 5 }), 'window: must be an object, got number'],
    [
      'a window with another name',
      () => make!({ model, window: { keepRecnt: 3 } }),
      'window: has no option keepRecnt',
    ],
    [
      'createAgent with an option of another name',
      () => make!({ model, sytem: 'Be brief.' }),
      'options: has no option sytem',
    ],
    [
      'ask with an option of another name',
      () => ask!('k', 'x', { maxTokens: 5 }),
      'options: has no option maxTokens',
    ],
    [
      'create with a field of another name',
      () => methods.create!({ tittle: 'x' }),
      'options: has no option tittle',
    ],
    [
      'findOrCreate with a field of another name',
      () => methods.findOrCreate!('k', { tag: 'x' }),
      'options: has no option tag',
    ],
    [
      'updateConversation with a field of another name',
      () => methods.updateConversation!('00000000-0000-4000-8000-000000000000', { tittle: 'x' }),
      'options: has no option tittle',
    ],
    [
      'listConversations with a filter of another name',
      () => methods.listConversations!({ keyprefix: 'ada:' }),
      'options: has no option keyprefix',
    ],
    [
      'countConversations with a filter of another name',
      () => methods.countConversations!({ limit: 5 }),
      'options: has no option limit',
    ],
    [
      'search with a filter of another name',
      () => methods.search!('x', { tags: ['x'] }),
      'options: has no option tags',
    ],
    [
      'listMessages with an option of another name',
      () => methods.listMessages!({ conversationId: '00000000-0000-4000-8000-000000000000', role: 'user' }),
      'options: has no option role',
    ],
    ['another mode', () => make!({ model, mode: 'later' }), 'mode: must be one of live, at_once'],
    ['approve as a text', () => make!({ model, approve: 'deny' }), 'approve: must be a function, got string'],
    [
      'a system prompt that is a number',
      () => make!({ model, system: 5 }),
      'system: must be text, got number',
    ],
    ['ask with a text as options', () => ask!('k', 'x', 'key'), 'options: must be an object, got string'],
    ['ask with another signal', () => ask!('k', 'x', { signal: 5 }), 'signal: must be an AbortSignal'],
    [
      'ask with another onBusy',
      () => ask!('k', 'x', { onBusy: 'later' }),
      'onBusy: must be one of wait, refuse',
    ],
    ['subagent()', () => plain(subagent)(), 'options: must be an object'],
    ['subagent without a name', () => plain(subagent)({ model }), 'name: must be text, got undefined'],
    ['codingTools()', () => plain(codingTools)(), 'options: must be an object with a directory'],
    ['codingTools of a number', () => plain(codingTools)({ directory: 5 }), 'directory: must be text'],
    ['recallTools()', () => plain(recallTools)(), 'store: must be a store'],
    ['allowTools of a text', () => plain(allowTools)('edit_file'), 'names: must be a list of names of tools'],
    ['repair()', () => plain(repair)(), 'path: must be a list of messages'],
    ['asText of a number', () => plain(asText)(5), 'messages: must be a list of messages'],
    ['windowOf()', () => plain(windowOf)(), 'model: must be text, got undefined'],
    ['summarize()', () => plain(summarize)(store), 'place: must be an object with conversationId and head'],
    ['createService without stores', () => serve!({}), 'storeOf: must be a function, got undefined'],
    [
      'createService without tokens',
      () => serve!({ storeOf: () => store }),
      'tokens: must be a keeper of tokens',
    ],
    ['listen()', () => plain(listen)(), 'service: must be a service'],
    [
      'listen on a name',
      () => plain(listen)({ fetch: () => 1 }, { port: 'x' }),
      'port: must be a whole number',
    ],
    ['createClient()', () => plain(createClient)(), 'settings: must be an object with url and token'],
    [
      'createClient of a word',
      () => plain(createClient)({ url: 'x', token: 't' }),
      'url: must be an address',
    ],
    ['storeOver()', () => plain(storeOver)(), 'engine: must be an engine'],
    [
      'beginTurn with one message',
      () => begin!(store, {}, { words: {} }),
      'words: must be a list of messages',
    ],
    ['recordTo with a text as options', () => record!(store, 'k', 'x'), 'options: must be an object'],
    ['scripted with a number', () => plain(scripted)({ script: 5 }), 'script: must be a list of replies'],
    ['createWorker()', () => plain(createWorker)(), 'options: must be an object'],
    ['createDispatcher()', () => plain(createDispatcher)({ store }), 'tasks: must be a keeper of tasks'],
    ['createMcpEndpoint()', () => plain(createMcpEndpoint)(), 'options: must be an object'],
    ['createHost()', () => plain(createHost)({}), 'store: must be a store'],
    ['buildForest()', () => plain(buildForest)(), 'nodes: must be a list of messages'],
    ['takeIn()', () => plain(takeIn)(store), 'records: must be iterable, got undefined'],
  ])('gets a sentence: %s', async (_, call, problem) => {
    const error = await Promise.resolve()
      .then(call)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InvalidError)
    expect(String((error as Error).message)).toContain(problem)
  })
})
