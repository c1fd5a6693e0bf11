import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openMcpTools } from '../../../src/agent/mcp/open-mcp-tools.ts'
import { said, world } from '../build.ts'

const script = join(import.meta.dirname, '../../support/mcp-stdio.ts')
const servers = { test: { command: process.execPath, args: [script] } }
const call = (name: string, input = {}) => ({ calls: [{ name, input }] })

it('lets an agent call tools of MCP servers, and stores their results', async () => {
  const { tools, close } = await openMcpTools(servers, { graceMs: 200 })
  try {
    await using here = await world([call('test_echo', { text: 'hi' }), call('test_point'), 'done'], { tools })
    expect(await here.agent.ask('talk', 'go')).toMatchObject({ text: 'done', status: 'complete' })
    expect(await said(here.store, 'talk')).toEqual([
      'user: go',
      'assistant: [test_echo]',
      'tool_result: "hi"',
      'assistant: [test_point]',
      'tool_result: {"x":1}',
      'assistant: done',
    ])
  } finally {
    await close()
  }
})

it('keeps an agent running if an MCP server dies during a call, and gives the model an error', async () => {
  const { tools, problems, close } = await openMcpTools(servers, { graceMs: 200 })
  try {
    await using here = await world([call('test_die'), call('test_two'), 'done'], { tools })
    expect(await here.agent.ask('talk', 'go')).toMatchObject({ text: 'done', status: 'complete' })
    const lines = await said(here.store, 'talk')
    expect(lines[2]).toMatch(/^tool_result: "the MCP server \\"test\\" was lost during \\"die\\"/)
    expect(lines[4]).toBe('tool_result: "one\\ntwo"')
    expect(problems).toHaveLength(1)
  } finally {
    await close()
  }
})
