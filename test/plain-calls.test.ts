import { afterAll, describe, expect, it } from 'vitest'
import { recordTo } from '../src/adapters/ai-sdk/record-to.ts'
import { createAgent } from '../src/agent/agent.ts'
import { openMcpTools } from '../src/agent/mcp/open-mcp-tools.ts'
import { tool } from '../src/agent/tools/tool.ts'
import { fit } from '../src/context/fit/fit.ts'
import { readContext } from '../src/context/read-context.ts'
import { InvalidError } from '../src/core/errors.ts'
import { scripted } from '../src/models/scripted.ts'
import { beginTurn } from '../src/recorder/begin-turn.ts'
import { createService } from '../src/server/service.ts'
import { openStore } from '../src/stores/open.ts'

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
  ])('gets a sentence: %s', async (_, call, problem) => {
    const error = await Promise.resolve()
      .then(call)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InvalidError)
    expect(String((error as Error).message)).toContain(problem)
  })
})
