import { describe, expect, it } from 'vitest'
import { isMcpCommand } from '../../../src/acp/seat/recall-server.ts'
import { RpcError } from '../../../src/acp/wire/rpc-error.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { user } from '../../recorder/place.ts'
import { answer, openSeating } from './seating.ts'

const recall = { command: 'node', args: ['skein.cjs', 'mcp', '--db', '/talks.db'] }
const editors = { name: 'files', command: 'files', args: [], env: [] }

/** A seat with recall, and the MCP servers in each request that opens a session. */
async function openRecalling(mcpServers: readonly JsonObject[] = [editors]) {
  const seating = await openSeating({
    recall,
    tell: 1_000,
    params: { cwd: '/work', mcpServers: [...mcpServers] },
  })
  const servers: unknown[] = []
  const { handlers } = seating
  const begin = handlers['session/new']!
  for (const method of ['session/new', 'session/load', 'session/resume'])
    handlers[method] = params => {
      servers.push([method, params.mcpServers])
      return method === 'session/new' ? begin(params) : {}
    }
  const ours = {
    name: 'skein_recall',
    command: 'node',
    args: [...recall.args, '--conversation', seating.branch.conversationId],
    env: [],
  }
  const acting = () => {
    seating.seat.hear(answer('well'))
    return { stop: 'end_turn' }
  }
  /** Messages that the agent does not know. */
  const addStored = async (count: number) => {
    const { head } = await seating.store.getBranch(seating.branch)
    const messages = Array.from({ length: count }, (_, n) => user(`stored ${n} ${'x'.repeat(200)}`))
    await seating.store.append(seating.branch, head, messages as [ReturnType<typeof user>])
  }
  return { ...seating, servers, ours, acting, addStored }
}

const named = 'The tools of the MCP server skein_recall search and read the whole conversation.'

describe('the MCP server of a hand-over', () => {
  it('is not given to an agent of a new conversation, nor to one that knows everything', async () => {
    const { prompt, seat, servers, acting } = await openRecalling()
    await prompt('one', acting)
    seat.vacate()
    await prompt('two', acting)
    expect(servers).toEqual([
      ['session/new', [editors]],
      ['session/resume', [editors]],
    ])
  })

  it('is given after the servers of the editor with a new session, and named if text is left out', async () => {
    const { prompt, prompts, servers, ours, acting, addStored } = await openRecalling()
    await addStored(40)
    await prompt('one', acting)
    expect(servers).toEqual([['session/new', [editors, ours]]])
    expect(prompts[0]!.injected).toContain(named)
  })

  it('is given again when a session that has it is resumed, and when a session lacks messages', async () => {
    const { prompt, seat, servers, ours, acting, addStored } = await openRecalling()
    await addStored(1)
    await prompt('one', acting)
    seat.vacate()
    await prompt('two', acting)
    expect(servers.at(-1)).toEqual(['session/resume', [editors, ours]])
    const other = await openRecalling()
    await other.prompt('one', other.acting)
    other.seat.vacate()
    await other.addStored(1)
    await other.prompt('two', other.acting)
    expect(other.servers.at(-1)).toEqual(['session/load', [editors, other.ours]])
  })

  it.each([
    { name: 'skein_recall', command: 'any', args: [], env: [] },
    { name: 'memory', command: '/usr/bin/skein', args: ['mcp'], env: [] },
  ])('is not given beside a server of ours: $name', async server => {
    const { prompt, prompts, servers, acting, addStored } = await openRecalling([server])
    await addStored(40)
    await prompt('one', acting)
    expect(servers).toEqual([['session/new', [server]]])
    expect(prompts[0]!.injected).not.toContain('MCP server')
  })

  it('is left out for an agent that refuses a session with it', async () => {
    const { prompt, prompts, servers, handlers, acting, addStored, ours } = await openRecalling()
    const begin = handlers['session/new']!
    handlers['session/new'] = params => {
      const begun = begin(params)
      if (JSON.stringify(params).includes('skein_recall'))
        throw new RpcError({ code: -32_602, message: 'no such server' })
      return begun
    }
    await addStored(40)
    expect((await prompt('one', acting)).error).toBeNull()
    expect(servers).toEqual([
      ['session/new', [editors, ours]],
      ['session/new', [editors]],
    ])
    expect(prompts[0]!.injected).not.toContain('MCP server')
  })
})

it('the command of skein mcp is recognised', () => {
  expect(isMcpCommand(['node', '/lib/skein.cjs', 'mcp'])).toBe(true)
  expect(isMcpCommand(['skein', 'acp'])).toBe(false)
  expect(isMcpCommand(['mcp', 'skein'])).toBe(false)
})
