import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentHome } from '../../cli/agent/with-agents.ts'
import { connectCommand } from '../../mcp/clients.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'

interface StdioServer {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

/** An agent that writes the lines that it gets to a file. */
function writing(file: string): readonly string[] {
  return ['/bin/sh', '-c', 'file=$1; shift; tee -a "$file" | "$@"', 'sh', file, ...agentCommand('forgetful')]
}

/** The MCP servers of each `session/new` that the agent got. */
function serversIn(file: string): readonly (readonly StdioServer[])[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines
    .map(line => JSON.parse(line))
    .filter(({ method }) => method === 'session/new')
    .map(({ params }) => params.mcpServers)
}

/** Starts the server as the agent would, elsewhere. */
function connect({ command, args }: StdioServer, env: NodeJS.ProcessEnv) {
  return connectCommand(command, args, { cwd: '/', env, generation: '2025-11-25' })
}

describe('an agent that does not know the conversation', () => {
  it('gets a server behind skein acp that finds its words, and those of no other conversation', async () => {
    await using stage = await openStage()
    const file = join(stage.cwd, '../lines')
    const editors = { name: 'files', command: '/bin/false', args: [], env: [] }
    const first = await stage.start(behindProxy(agentCommand('forgetful')))
    const [id, other] = [await first.newSession(), await first.newSession()]
    await first.prompt(id, 'The staging host is otter.')
    await first.prompt(other, 'The staging host is badger.')
    await first.end()
    const editor = await stage.start(behindProxy(writing(file), '--name', 'second'))
    await editor.load(id, { mcpServers: [editors] })
    await editor.prompt(id, 'Which host?')
    const [given] = serversIn(file)
    expect(given!.map(({ name }) => name)).toEqual(['files', 'skein_recall'])
    await using mcp = await connect(given![1]!, stage.env)
    const tools = (await mcp.client.listTools()).tools.map(({ name }) => name)
    expect(tools.sort()).toEqual(['read_conversation', 'search_conversations'])
    expect((await mcp.call('search_conversations', { query: 'otter' })).text).toContain('otter')
    expect((await mcp.call('search_conversations', { query: 'badger' })).data.hits).toEqual([])
    expect((await mcp.call('read_conversation')).text).toContain('The staging host is otter.')
    const elsewhere = await mcp.call('read_conversation', { id: `acp:${other}` })
    expect([elsewhere.isError, elsewhere.text.includes('badger')]).toEqual([true, false])
    // A new conversation has nothing to tell.
    await editor.newSession()
    expect(serversIn(file)[1]).toEqual([])
    await editor.end()
  })

  it('gets it in skein agent, unless acp.recall is off', async () => {
    await using at = await agentHome()
    const { here } = at
    await here.skein(['-m', 'scripted', '-n', 'The staging host is otter.'])
    const file = join(here.cwd, '../lines')
    await at.piped(['-c'], writing(file), { input: 'Which host?\n' })
    const [server] = serversIn(file)[0]!
    await using mcp = await connect(server!, here.env)
    expect((await mcp.call('search_conversations', { query: 'otter' })).text).toContain('otter')
    writeFileSync(join(here.cwd, 'skein.yaml'), 'acp: { recall: off }\n')
    await at.piped(['-c', '--name', 'third'], writing(file), { input: 'Which host?\n' })
    expect(serversIn(file)[1]).toEqual([])
  })
})
