import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { connectProcess } from '../../mcp/clients.ts'
import { storeOf } from '../running.ts'
import { commandLine, type Home, home } from '../skein.ts'

/** A home whose own configuration has these agents. */
function homeWith(agents: Readonly<Record<string, object>>): Home {
  const here = home()
  const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'skein.yaml'), JSON.stringify({ agents }))
  return here
}

/** Our own agent as a program of the Agent Client Protocol, with a store of its own. */
function program(here: Home) {
  const [command, args] = commandLine(['acp', '--db', join(here.cwd, 'agent.db')])
  return { command, args, description: 'Answers.' }
}

async function runOf(store: Store, id: string) {
  const { conversation, branch } = await store.resolve(id)
  return { conversation, texts: (await pathOf(store, branch.head!)).map(textOf) }
}

describe('ask', () => {
  it.each(['own', 'foreign'])(
    'gives a task to an agent (%s), and stores the run as a subagent (S3-86)',
    async kind => {
      using here = homeWith({})
      const agents = { helper: kind === 'own' ? { model: 'scripted', system: 'Be brief.' } : program(here) }
      writeFileSync(join(here.env.XDG_CONFIG_HOME!, 'skein/skein.yaml'), JSON.stringify({ agents }))
      await using store = await storeOf(here)
      const { conversation: caller, branch } = await store.create({ directory: here.cwd, title: 'caller' })
      const { ids } = await store.append(branch, null, [{ role: 'user', content: 'Who is Ada?' }])
      await using connected = await connectProcess(here, ['--agent', 'helper'])
      const progress: string[] = []
      const { text, data, isError } = await connected.call(
        'ask',
        { task: 'My name is Ada.', from: ids[0] },
        { onprogress: ({ message }) => void progress.push(message ?? '') },
      )
      expect([isError, text]).toEqual([
        false,
        `Nice to meet you, Ada.\n\nStored as conversation ${data.conversation}.`,
      ])
      expect(data).toMatchObject({ status: 'complete', answer: 'Nice to meet you, Ada.' })
      expect(data.label).toMatch(/^subagent:helper:[\w-]{36}$/)
      expect(progress[0]).toBe(`helper has the task: conversation ${data.conversation}`)
      const { conversation, texts } = await runOf(store, data.conversation)
      expect(texts).toEqual(['My name is Ada.', 'Nice to meet you, Ada.'])
      expect(conversation).toMatchObject({
        kind: 'subagent',
        label: data.label,
        parent: { conversationId: caller.id, messageId: ids[0] },
        directory: here.cwd,
      })
      const listed = await connected.call('list_conversations', {
        kind: 'subagent',
        label: 'subagent:helper:',
      })
      expect(listed.data.conversations).toMatchObject([{ id: data.conversation }])
      const unknown = await connected.call('ask', { task: 'x', from: 'zzzzzz' })
      expect([unknown.isError, unknown.text]).toEqual([true, expect.stringContaining('there is no id')])
    },
  )

  it('keeps what has arrived if the client cancels, and if its input ends', async () => {
    using here = homeWith({ slow: { model: 'scripted' } })
    await using store = await storeOf(here)
    const connected = await connectProcess(here, ['--agent', 'slow'])
    const cancelled = new AbortController()
    const begin = (onBegun: () => void, signal?: AbortSignal) =>
      connected.call(
        'ask',
        { task: `/slow ${'word '.repeat(2_000)}` },
        {
          onprogress: ({ message = '' }) => {
            if (message.includes('has written')) onBegun()
          },
          ...(signal && { signal }),
        },
      )
    await expect(begin(() => cancelled.abort(), cancelled.signal)).rejects.toThrow()
    const statuses = async () => {
      const { items } = await store.listConversations({ kind: 'subagent' })
      return Promise.all(items.map(async ({ id }) => (await store.listTurns(id)).items[0]?.status))
    }
    await expect.poll(statuses).toEqual(['interrupted'])
    await new Promise<void>(resolve => void begin(resolve).catch(() => undefined))
    await connected.client.close()
    await expect.poll(statuses).toEqual(['interrupted', 'interrupted'])
    const { items } = await store.listConversations({ kind: 'subagent' })
    for (const { id } of items) expect((await runOf(store, id)).texts[1]).toMatch(/^word/)
  })

  it('keeps the half answer if the process is killed, and shows it marked', async () => {
    using here = homeWith({ slow: { model: 'scripted' } })
    const connected = await connectProcess(here, ['--agent', 'slow'])
    const task = `/slow ${'word '.repeat(2_000)}`
    connected.call('ask', { task }).catch(() => undefined)
    await using store = await storeOf(here)
    const drafted = async () => {
      const [run] = (await store.listConversations({ kind: 'subagent' })).items
      const [turn] = run ? (await store.listTurns(run.id)).items : []
      return turn ? (await store.readDraft(turn.conversationId, turn.key)).items.length : 0
    }
    await expect.poll(drafted).toBeGreaterThan(0)
    process.kill(connected.pid, 'SIGKILL')
    await connected.client.close()
    const { items } = await store.listConversations({ kind: 'subagent' })
    await using other = await connectProcess(here)
    const page = await other.call('read_conversation', { id: items[0]!.id })
    expect(page.data.messages).toMatchObject([{ role: 'user', number: 0 }])
    expect(page.data.unfinished).toMatch(/^word/)
    expect(page.text).toContain('The last turn has not ended')
    const shown = await here.skein(['show', items[0]!.id])
    expect(shown.stdout).toMatch(/\(not finished\)\s+word/)
  })

  it('reports the failure of the agent, with the conversation', async () => {
    using here = homeWith({ failing: { model: 'scripted' }, missing: { command: '/nonexistent/agent' } })
    await using connected = await connectProcess(here, ['--agent', 'failing'])
    const failed = await connected.call('ask', { task: '/fail' })
    expect([failed.isError, failed.text]).toEqual([true, expect.stringMatching(/^failing failed: /)])
    expect(failed.text).toMatch(/Stored as conversation [\w-]{36}\.$/)
    await using gone = await connectProcess(here, ['--agent', 'missing'])
    const missing = await gone.call('ask', { task: 'x' })
    expect([missing.isError, missing.text]).toEqual([true, expect.stringContaining('/nonexistent/agent')])
    expect((await gone.call('list_conversations')).isError).toBe(false)
  })

  it('never gives the agent behind it the tools of skein mcp', async () => {
    using here = home()
    const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
    mkdirSync(folder, { recursive: true })
    const [command, args] = commandLine(['mcp', '--agent', 'helper'])
    const config = {
      agents: { helper: { model: 'scripted', tools: ['recall', 'memory', 'read_files'] } },
      mcp: { memory: { command, args } },
    }
    writeFileSync(join(folder, 'skein.yaml'), JSON.stringify(config))
    await using connected = await connectProcess(here, ['--agent', 'helper'])
    const asked = await connected.call('ask', { task: '/tool memory_ask {"task":"again"}' })
    expect(asked.text).toContain('these are offered: search_conversations, read_conversation.')
    const found = await connected.call('ask', { task: '/tool search_conversations {"query":"again"}' })
    expect(found.text).toContain('hits')
    expect(connected.printed()).toContain('the agent helper does not get memory')
    // A program behind `ask` may have skein mcp in its own settings: it inherits the variable.
    await using inner = await connectProcess(here, ['--agent', 'helper'], { env: { SKEIN_ASKED: '1' } })
    expect((await inner.client.listTools()).tools).toEqual([])
  })

  it("refuses an unknown agent, and a program that a project's file names", async () => {
    using here = home()
    const unknown = await here.skein(['mcp', '--agent', 'x'])
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('no agent x')])
    writeFileSync(join(here.cwd, 'skein.yaml'), 'agents:\n  x:\n    command: ./evil\n')
    const refused = await here.skein(['mcp', '--agent', 'x'])
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('skein config trust')])
    writeFileSync(join(here.cwd, 'skein.yaml'), 'agents:\n  x:\n    system: Hi.\n')
    const invalid = await here.skein(['mcp', '--agent', 'x'])
    expect(invalid.stderr).toContain('./skein.yaml:2 agents.x: needs command (a program) or model')
  })
})

describe('skein mcp', () => {
  it('prints only the protocol, survives garbage, and ends with its input', async () => {
    using here = home()
    const hello = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    }
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
    const garbage = [
      'garbage',
      '{"jsonrpc":',
      '[]',
      '42',
      '{"jsonrpc":"2.0","id":9,"method":"no/such"}',
      '\0',
    ]
    const lines = [JSON.stringify(hello), ...garbage, JSON.stringify(list)]
    const { stdout, stderr, code } = await here.skein(['mcp'], { input: `${lines.join('\n')}\n` })
    expect(code).toBe(0)
    expect(stderr).toBe('! ignored a line that is not JSON-RPC 2.0\n'.repeat(2))
    const answers = stdout
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
    expect(answers.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true)
    expect(answers.find(({ id }) => id === 1).result.protocolVersion).toBe('2025-11-25')
  })

  it('ends on SIGTERM', async () => {
    using here = home()
    const connected = await connectProcess(here)
    const closed = new Promise<void>(resolve => {
      connected.client.onclose = resolve
    })
    process.kill(connected.pid, 'SIGTERM')
    await closed
  })
})
