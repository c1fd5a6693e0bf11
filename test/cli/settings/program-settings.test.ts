import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentCommand } from '../../acp/agents/harness.ts'
import { connectProcess } from '../../mcp/clients.ts'
import { serveMcp } from '../../support/mcp-http.ts'
import { agentHome } from '../agent/with-agents.ts'
import { servedHome } from '../model/with-server.ts'
import { home } from '../skein.ts'
import { ownFile } from './own-file.ts'

const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')

/** A program that writes its arguments, a variable and its folder to a file, and then runs the server. */
const reporting = (file: string) => [
  '-e',
  `require('fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify([process.argv.slice(1), process.env.GREETING, process.cwd()]));
   import(${JSON.stringify(server)})`,
]

describe('the settings of programs, from yaml to effect', () => {
  it('start an MCP server: mcp.<name>.command, args, env and cwd', async () => {
    using here = home()
    const file = join(here.cwd, 'report')
    const below = join(here.cwd, 'below')
    mkdirSync(below)
    const args = [...reporting(file), 'extra']
    ownFile(here, {
      mcp: { files: { command: process.execPath, args, env: { GREETING: 'hello' }, cwd: below } },
    })
    const run = await here.skein(['/tool files_echo {"text": "a word"}'])
    expect(run).toMatchObject({ code: 0, stdout: 'files_echo returned: "a word"\n' })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([['extra'], 'hello', realpathSync(below)])
  })

  it('reach an MCP server at an address: mcp.<name>.url and headers', async () => {
    using here = home()
    await using remote = await serveMcp({ token: 'swordfish' })
    ownFile(here, { mcp: { web: { url: remote.url, headers: { Authorization: 'Bearer swordfish' } } } })
    const run = await here.skein(['/tool web_echo {"text": "far"}'])
    expect(run).toMatchObject({ code: 0, stdout: 'web_echo returned: "far"\n' })
  })

  it('start an agent by its name: agents.<name>.command, args, env and cwd, and words after -- are added', async () => {
    using here = home()
    const report =
      'console.error([process.argv.slice(1), process.env.GREETING, process.cwd()].join("|")); process.exit(9)'
    const below = join(here.cwd, 'below')
    mkdirSync(below)
    const mine = {
      command: process.execPath,
      args: ['-e', report, 'own'],
      env: { GREETING: 'hello' },
      cwd: below,
    }
    ownFile(here, { agents: { mine } })
    const run = await here.skein(['agent', 'mine', '-q', '--', 'more'], { input: 'hi\n' })
    expect(run.stderr).toContain(`skein: mine: it ended (code 9): own,more|hello|${realpathSync(below)}`)
    const acp = await here.skein(['acp', 'mine'], { input: '' })
    expect(acp.stderr).toContain('mine: conversations are stored in')
  })

  it('set the options of an agent: agents.<name>.mode, model and set; flags win', async () => {
    await using at = await agentHome()
    const [command, ...args] = agentCommand('adjustable')
    ownFile(at.here, {
      agents: { mine: { command, args, mode: 'plan', model: 'large', set: { thinks: 'on' } } },
    })
    const set = await at.named(['mine', '-n'], { input: 'settings\n' })
    expect(JSON.parse(set.stdout)).toMatchObject({ mode: 'plan', model: 'large', thinks: true })
    const flags = await at.named(['mine', '-n', '--mode', 'code'], { input: 'settings\n' })
    expect(JSON.parse(flags.stdout)).toMatchObject({ mode: 'code', model: 'large', thinks: true })
  })

  it('make an agent of ours: agents.<name>.model, system and tools, and description for skein mcp', async () => {
    await using at = await servedHome()
    const own = {
      agents: {
        reviewer: {
          model: 'compatible/x',
          system: 'Be terse.',
          tools: ['recall'],
          description: 'Finds faults.',
        },
      },
    }
    ownFile(at, own)
    const run = await at.skein(['agent', 'reviewer', '-n'], { input: 'hi\n' })
    expect(run).toMatchObject({ code: 0 })
    const { body, messages } = at.server.requests.at(-1)!
    expect(body).toMatchObject({ model: 'x' })
    expect(messages[0]).toMatchObject({ role: 'system', text: 'Be terse.' })
    const offered = (body as { tools: readonly { function: { name: string } }[] }).tools
    expect(offered.map(tool => tool.function.name)).toEqual(['search_conversations', 'read_conversation'])
    const wrong = await at.skein(['agent', 'reviewer', '--mode', 'plan'])
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--mode is for agents of other') })
    await using connected = await connectProcess(at, ['--agent', 'reviewer'])
    const tools = (await connected.client.listTools()).tools
    expect(tools.find(({ name }) => name === 'ask')?.description).toContain('Finds faults.')
  })

  it('make a subagent: subagents.<name>.description, model and system', async () => {
    await using at = await servedHome({
      reply: ({ n }) =>
        n === 0 ? { parts: [{ call: { name: 'reader', input: { task: 'read it' } } }] } : 'done',
    })
    const reader = { description: 'Reads long texts.', model: 'compatible/small', system: 'Read slowly.' }
    writeFileSync(join(at.cwd, 'skein.yaml'), JSON.stringify({ subagents: { reader } }))
    expect((await at.skein(['-m', 'compatible/x', 'go', '--allow', 'reader'])).code).toBe(0)
    const [first, second] = at.server.requests
    expect(JSON.stringify(first!.body)).toContain('Reads long texts.')
    expect(second!.body).toMatchObject({ model: 'small' })
    expect(second!.messages[0]).toMatchObject({ role: 'system', text: 'Read slowly.' })
  })
})
