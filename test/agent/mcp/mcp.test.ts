import { fork } from 'node:child_process'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { type McpOptions, type McpServer, openMcpTools } from '../../../src/agent/mcp/open-mcp-tools.ts'
import { agentTools, type ToolContext } from '../../../src/agent/tools/tool.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { serveMcp } from '../../support/mcp-http.ts'

const script = join(import.meta.dirname, '../../support/mcp-stdio.ts')
const server = (...args: string[]) => ({ command: process.execPath, args: [script, ...args] })
const context = (signal = new AbortController().signal) => ({ signal }) as ToolContext
const scratch = () => mkdtemp(join(tmpdir(), 'mcp-'))

async function open(servers: Record<string, McpServer>, options: McpOptions = {}) {
  const opened = await openMcpTools(servers, { graceMs: 200, ...options })
  const call = (name: string, input: JsonObject = {}, signal?: AbortSignal) =>
    opened.tools[name]!.run(input, context(signal))
  return { ...opened, call, [Symbol.asyncDispose]: opened.close }
}

/** Whether a process runs; a zombie does not. */
async function lives(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (status !== null) return !/\) [ZX] /.test(status)
  if (process.platform === 'linux') return false
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const ended = (pid: number) =>
  vi.waitUntil(async () => !(await lives(pid)), { timeout: 10_000, interval: 20 })
/** Waits until a file matches, and returns its text. */
async function written(file: string, what: RegExp): Promise<string> {
  const read = async () => (await readFile(file, 'utf8').catch(() => '')).match(what)?.input
  return (await vi.waitUntil(read, { timeout: 10_000, interval: 20 }))!
}

describe('tools of an MCP server', () => {
  it('are complete, from every page of its list, with names that every provider accepts', async () => {
    await using mcp = await open({ test: server() })
    expect(Object.keys(mcp.tools)).toHaveLength(16)
    expect(Object.keys(mcp.tools)).toEqual(
      expect.arrayContaining(['test_echo', 'test_odd_name_x', 'test_large']),
    )
    expect(() => agentTools(mcp.tools)).not.toThrow()
    expect(mcp.problems).toEqual([])
  })

  it('have a description and a schema, and are repeatable if the server says so', async () => {
    await using mcp = await open({ test: server() })
    expect(mcp.tools.test_echo).toMatchObject({
      description: 'Says it again.',
      schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      repeatable: true,
    })
    expect(mcp.tools.test_two).toMatchObject({ description: 'two', repeatable: true })
    expect(mcp.tools.test_fail).toMatchObject({
      schema: { type: 'object', properties: {} },
      repeatable: false,
    })
  })

  it('accept only objects', async () => {
    await using mcp = await open({ test: server() })
    for (const wrong of [null, 'text', 1, [1]]) {
      expect(mcp.tools.test_echo!.check(wrong)).toBe('the input must be an object')
    }
    expect(mcp.tools.test_echo!.check({})).toBeNull()
  })

  it('return text as text, and structured content as JSON', async () => {
    await using mcp = await open({ test: server() })
    expect(await mcp.call('test_echo', { text: 'häh?\u2028' })).toEqual({ output: 'häh?\u2028' })
    expect(await mcp.call('test_two')).toEqual({ output: 'one\ntwo' })
    expect(await mcp.call('test_point')).toEqual({ output: { x: 1 } })
    expect(await mcp.call('test_explained')).toEqual({
      output: { text: 'near the door', structuredContent: { x: 1 } },
    })
  })

  it('return images and files as a list that models understand', async () => {
    await using mcp = await open({ test: server() })
    expect(await mcp.call('test_picture')).toEqual({
      output: [
        { type: 'text', text: 'a dot' },
        { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
      ],
    })
    expect(await mcp.call('test_papers')).toEqual({
      output: [
        { type: 'text', text: 'words', uri: 'file:///a.txt' },
        { type: 'file', mime: 'application/pdf', data: 'JVBERi0=', name: 'file:///b.pdf' },
        { type: 'text', text: 'c: file:///c.txt' },
        { type: 'text', text: '{"pages":3}' },
      ],
    })
  })

  it('are not refused for a result that differs from their output schema', async () => {
    await using mcp = await open({ test: server() })
    expect(await mcp.call('test_shapeless')).toEqual({ output: 'no shape' })
  })

  it('return results of many megabytes in full', async () => {
    await using mcp = await open({ test: server() })
    const { output } = await mcp.call('test_large', { length: 6_000_000 })
    expect(output === 'é'.repeat(6_000_000)).toBe(true)
  })

  it('report errors, and keep working', async () => {
    await using mcp = await open({ test: server() })
    expect(await mcp.call('test_fail')).toEqual({ output: 'the disk is full', isError: true })
    await expect(mcp.call('test_refuse')).rejects.toThrow(
      'the MCP server "test" failed in "refuse": not today',
    )
    expect(await mcp.call('test_two')).toEqual({ output: 'one\ntwo' })
    expect(mcp.problems).toEqual([])
  })

  it('run with the configured directory and environment, and get none of our secrets (R20)', async () => {
    vi.stubEnv('SECRET', 'sk-1234')
    const cwd = await scratch()
    await using mcp = await open({ test: { ...server(), env: { GIVEN: 'yes' }, cwd } })
    const { output } = await mcp.call('test_place')
    expect(JSON.parse(output as string)).toEqual({ cwd, given: 'yes' })
  })

  it('do not show values of the configuration in errors, also if the server prints them (R20)', async () => {
    const env = { GIVEN: 'correct horse battery' }
    await using mcp = await open({ test: { ...server(), env } })
    const call = mcp.call('test_die', { words: env.GIVEN })
    await expect(call).rejects.toThrow(/out of cheese \[key\]/)
    expect(mcp.problems[0]!.error.message).not.toContain('horse')
  })

  it('are cancelled with the run, also on the server', async () => {
    await using mcp = await open({ test: server() })
    const log = join(await scratch(), 'log')
    const abort = new AbortController()
    const call = mcp.call('test_wait', { log }, abort.signal)
    call.catch(() => {})
    await written(log, /begun/)
    abort.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await written(log, /cancelled/)
    expect(await mcp.call('test_two')).toEqual({ output: 'one\ntwo' })
  })

  it('end at the time limit', async () => {
    await using mcp = await open({ test: server() }, { callMs: 200 })
    await expect(mcp.call('test_never')).rejects.toThrow('the MCP server "test" failed in "never": ')
    expect(await mcp.call('test_two')).toEqual({ output: 'one\ntwo' })
    expect(mcp.problems).toEqual([])
  })
})

describe('an MCP server', () => {
  it('may print other lines before the protocol', async () => {
    await using mcp = await open({ test: server('noisy') })
    expect(await mcp.call('test_two')).toEqual({ output: 'one\ntwo' })
  })

  it('may support only the newest protocol', async () => {
    await using mcp = await open({ test: server('newer') })
    expect(mcp.problems).toEqual([])
    expect(await mcp.call('test_two')).toEqual({ output: 'one\ntwo' })
  })

  it('that fails is reported with its output, and does not affect the others', async () => {
    const seen: string[] = []
    await using mcp = await open(
      {
        broken: server('broken'),
        missing: { command: '/no/such/command' },
        both: { command: 'x', url: 'http://x' } as McpServer,
        good: server(),
      },
      { onProblem: ({ server }) => seen.push(server) },
    )
    expect(Object.keys(mcp.tools).filter(name => !name.startsWith('good_'))).toEqual([])
    expect(await mcp.call('good_two')).toEqual({ output: 'one\ntwo' })
    const problems = Object.fromEntries(mcp.problems.map(({ server, error }) => [server, error.message]))
    expect(problems).toEqual({
      broken: expect.stringMatching(/"broken" did not start: .*exit code 2.*there is no such database$/),
      missing: expect.stringMatching(/"missing" did not start: spawn .*ENOENT/),
      both: expect.stringMatching(/either a command or a url/),
    })
    expect(seen.toSorted()).toEqual(['both', 'broken', 'missing'])
  })

  it('that dies during a call is reported, and the next call starts it again', async () => {
    const seen: string[] = []
    await using mcp = await open({ test: server() }, { onProblem: ({ error }) => seen.push(error.message) })
    const before = await mcp.call('test_pid')
    await expect(mcp.call('test_die')).rejects.toThrow(
      /the MCP server "test" was lost during "die", so whether it was done is not known: .*exit code 3.*out of cheese/,
    )
    expect(mcp.problems).toHaveLength(1)
    expect(seen).toEqual([expect.stringMatching(/"test" was lost: .*exit code 3.*out of cheese/)])
    const after = await mcp.call('test_pid')
    expect(after.output).not.toBe(before.output)
  })

  it('that dies between two calls is reported at once', async () => {
    let told = () => {}
    const death = new Promise<void>(resolve => {
      told = resolve
    })
    await using mcp = await open({ test: server() }, { onProblem: () => told() })
    process.kill(Number((await mcp.call('test_pid')).output), 'SIGKILL')
    await death
    expect(mcp.problems[0]!.error.message).toMatch(/"test" was lost: .*SIGKILL/)
    expect(await mcp.call('test_two')).toEqual({ output: 'one\ntwo' })
  })

  it('is started once by parallel calls', async () => {
    await using mcp = await open({ test: server() })
    await expect(mcp.call('test_die')).rejects.toThrow('was lost')
    const pids = await Promise.all([1, 2, 3].map(() => mcp.call('test_pid')))
    expect(new Set(pids.map(({ output }) => output)).size).toBe(1)
  })
})

describe('the process of an MCP server', () => {
  it('ends when the tools are closed, and so do its calls', async () => {
    const mcp = await open({ test: server() })
    const pid = Number((await mcp.call('test_pid')).output)
    const call = mcp.call('test_never')
    call.catch(() => {})
    await mcp.close()
    await expect(call).rejects.toThrow('the MCP server "test"')
    expect(await lives(pid)).toBe(false)
    await expect(mcp.call('test_two')).rejects.toThrow('the MCP server "test" has been closed')
    expect(mcp.problems).toEqual([])
    await mcp.close()
  })

  it('is killed if it does not end, with its own child processes', async () => {
    const file = join(await scratch(), 'pid')
    const mcp = await open({ test: server('stubborn', `child=${file}`) })
    const pid = Number((await mcp.call('test_pid')).output)
    expect(String(pid)).toBe(await readFile(file, 'utf8'))
    await mcp.close()
    await ended(pid)
  })

  it('ends after a start that takes too long', async () => {
    const file = join(await scratch(), 'pid')
    await using mcp = await open({ test: server('silent', 'stubborn', `pid=${file}`) }, { startMs: 4_000 })
    expect(mcp.problems.map(({ error }) => error.message)).toEqual([
      'the MCP server "test" did not start: it took more than 4000 ms',
    ])
    await ended(Number(await written(file, /^\d+$/)))
  })

  it('ends after an aborted opening', async () => {
    const file = join(await scratch(), 'pid')
    const abort = new AbortController()
    const opening = open({ good: server(), test: server('silent', `pid=${file}`) }, { signal: abort.signal })
    opening.catch(() => {})
    const pid = Number(await written(file, /^\d+$/))
    abort.abort(new Error('never mind'))
    await expect(opening).rejects.toThrow('never mind')
    await ended(pid)
  })

  it.each(['exit', 'SIGKILL'])('ends with our process by %s, without close', async way => {
    const file = join(await scratch(), 'pid')
    // After SIGKILL no handler runs: the server has to notice the end of its input.
    const manner = way === 'exit' ? 'stubborn' : 'meek'
    const opener = fork(join(import.meta.dirname, '../../support/mcp-opener.ts'), [manner, `pid=${file}`])
    const gone = new Promise(resolve => opener.once('exit', resolve))
    await new Promise(resolve => opener.once('message', resolve))
    const pid = Number(await written(file, /^\d+$/))
    expect(await lives(pid)).toBe(true)
    if (way === 'exit') opener.send('exit')
    else opener.kill('SIGKILL')
    await gone
    await ended(pid)
  })
})

describe('an MCP server over HTTP', () => {
  it('provides its tools, and gets the configured headers', async () => {
    await using http = await serveMcp({ token: 'open sesame' })
    const headers = { authorization: 'Bearer open sesame' }
    await using mcp = await open({ far: { url: http.url, headers } })
    expect(mcp.problems).toEqual([])
    expect(await mcp.call('far_echo', { text: 'hi' })).toEqual({ output: 'hi' })
    expect(await mcp.call('far_fail')).toEqual({ output: 'the disk is full', isError: true })
    expect(http.headers.every(({ authorization }) => authorization === headers.authorization)).toBe(true)
  })

  it('may support only the newest protocol', async () => {
    await using http = await serveMcp({ legacy: 'reject' })
    await using mcp = await open({ far: { url: http.url } })
    expect(mcp.problems).toEqual([])
    expect(await mcp.call('far_two')).toEqual({ output: 'one\ntwo' })
  })

  it('that refuses or is unreachable is reported without the headers (R20)', async () => {
    await using http = await serveMcp({ token: 'open sesame' })
    const gone = await serveMcp()
    await gone[Symbol.asyncDispose]()
    await using mcp = await open({
      far: { url: http.url, headers: { authorization: 'Bearer sk-1234' } },
      gone: { url: gone.url },
    })
    const problems = mcp.problems.map(({ error }) => error.message).toSorted()
    expect(problems).toEqual([
      expect.stringMatching(/"far" did not start: HTTP 401/),
      expect.stringMatching(/"gone" did not start: fetch failed/),
    ])
    expect(problems.join()).not.toContain('sk-1234')
  })

  it('that disappears is reported, and used again when it is back', async () => {
    const http = await serveMcp()
    await using mcp = await open({ far: { url: http.url } })
    await http[Symbol.asyncDispose]()
    await expect(mcp.call('far_two')).rejects.toThrow('the MCP server "far" was lost during "two"')
    expect(mcp.problems).toHaveLength(1)
    await expect(mcp.call('far_two')).rejects.toThrow('the MCP server "far" did not start')
    await using _again = await serveMcp({ port: Number(new URL(http.url).port) })
    expect(await mcp.call('far_two')).toEqual({ output: 'one\ntwo' })
  })

  it('is notified of a cancelled call', async () => {
    await using http = await serveMcp({ legacy: 'reject' })
    await using mcp = await open({ far: { url: http.url } })
    const log = join(await scratch(), 'log')
    const abort = new AbortController()
    const call = mcp.call('far_wait', { log }, abort.signal)
    call.catch(() => {})
    await written(log, /begun/)
    abort.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await written(log, /cancelled/)
  })
})
