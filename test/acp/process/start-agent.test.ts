import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { AgentCommand, AgentProcessOptions } from '../../../src/acp/process/agent-process.ts'
import { startAgent } from '../../../src/acp/process/start-agent.ts'
import { heard, until } from '../wire/heard.ts'

/** An agent of a few lines of shell. It ends with the test. */
function agent(script: string, options: Partial<AgentProcessOptions & AgentCommand> = {}) {
  const { command = 'sh', args = ['-c', script], cwd, env, ...rest } = options
  const handlers = heard()
  const place = { ...(cwd === undefined ? {} : { cwd }), ...(env === undefined ? {} : { env }) }
  const process = startAgent({ command, args, ...place }, { graceMs: 200, ...handlers, ...rest })
  return {
    handlers,
    process,
    async [Symbol.asyncDispose]() {
      await process.end()
    },
  }
}

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'wire-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

describe('a running agent process', () => {
  it('receives lines and sends lines, byte for byte', async () => {
    await using echo = agent('cat')
    const lines = ['{"id": 1.0}', 'no JSON\r', '', '{"text":"é🧶"}']
    for (const line of lines) echo.process.send(line)
    echo.process.send(Buffer.from('{"id":2}'))
    await until(() => echo.handlers.lines.length === 5)
    expect(echo.handlers.lines).toEqual([...lines, '{"id":2}'])
    expect(echo.process.pid).toBeGreaterThan(1)
  })

  it('has our environment and its own, and its working directory', async () => {
    using place = folder()
    await using one = agent('echo "$OF_ITS_OWN $HOME"; pwd -P', {
      cwd: place.path,
      env: { OF_ITS_OWN: 'a b' },
    })
    await one.handlers.over
    expect(one.handlers.lines).toEqual([`a b ${process.env.HOME}`, place.path])
  })

  it('is asked to exit by the end of its stdin, and its last output arrives', async () => {
    const { handlers, process } = agent('cat; echo "{}"; printf "{}"; echo bye >&2; exit 3')
    process.send('{"id":1}')
    expect(await process.end()).toEqual({ code: 3, signal: null, stderr: 'bye' })
    expect(handlers.events).toEqual(['drain', '{"id":1}', '{}', '{}', 'end'])
    expect(await process.ended).toEqual(await process.end())
  })

  it('receives lines that were sent before our side was closed', async () => {
    const { handlers, process } = agent('cat')
    const lines = Array.from({ length: 5_000 }, (_, index) => `{"id":${index},"text":"${'x'.repeat(100)}"}`)
    for (const line of lines) process.send(line)
    process.close()
    process.send('{"id":"too late"}')
    expect(await process.ended).toMatchObject({ code: 0 })
    expect(handlers.lines).toEqual(lines)
  })
})

describe('the stderr of an agent', () => {
  it('is passed on at once, and its last twenty lines are kept', async () => {
    let complaints = ''
    await using one = agent('for i in $(seq 30); do echo "line $i" >&2; done', {
      onStderr: text => {
        complaints += text
      },
    })
    const { stderr } = await one.process.ended
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`)
    expect(complaints).toBe(`${lines.join('\n')}\n`)
    expect(stderr).toBe(lines.slice(-20).join('\n'))
  })

  it('is limited, also without line ends', async () => {
    await using one = agent('head -c 3000000 /dev/zero | tr "\\0" x >&2; echo the end >&2')
    const { stderr } = await one.process.ended
    expect(stderr).toMatch(/xxxthe end$/)
    expect(stderr.length).toBeLessThan(100_000)
  })
})

describe('a command that cannot be started', () => {
  it.each<[name: string, reason: string | RegExp, command: Partial<AgentCommand>]>([
    ['does not exist', 'no-such-agent: command not found', { command: 'no-such-agent' }],
    ['has no directory', 'the directory /no/such/place does not exist', { cwd: '/no/such/place' }],
    ['is not a valid command', /could not be started: .*null bytes/, { command: 'a\0b' }],
    ['is too long', /could not be started: .*E2BIG/, { args: ['-c', 'x'.repeat(3_000_000)] }],
  ])('ends with its reason and code 127: it %s', async (_, reason, command) => {
    const { handlers, process } = agent('cat', command)
    expect(handlers.events).toEqual([])
    process.send('{"id":1}')
    const end = await process.ended
    expect(end).toEqual({ code: 127, signal: null, stderr: expect.stringMatching(reason) })
    expect(await process.end()).toEqual(end)
    process.send('{"id":2}')
    expect(process.pid).toBeNull()
    expect(process.unsent).toBe(0)
    expect(handlers.events.filter(event => event !== 'drain')).toEqual(['end'])
  })

  it('ends with its reason if the file is not executable', async () => {
    using place = folder()
    const file = join(place.path, 'agent')
    writeFileSync(file, '')
    chmodSync(file, 0o644)
    const { process } = agent('', { command: file })
    expect(await process.ended).toEqual({ code: 127, signal: null, stderr: `${file}: permission denied` })
  })
})

describe('an agent process that dies', () => {
  it('is read to its last line, before its end is reported', async () => {
    const { handlers, process } = agent('seq 20000; kill -9 $$')
    expect(await process.ended).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(handlers.lines).toHaveLength(20_000)
    expect(handlers.events.slice(-2)).toEqual(['20000', 'end'])
  })

  it('does not leave half a line', async () => {
    const { handlers, process } = agent('printf "{}\\n{\\"id\\":"; kill -9 $$')
    await process.ended
    expect(handlers.events).toEqual(['{}', 'end'])
  })

  it('accepts lines, and drops them', async () => {
    const { handlers, process } = agent('exec 0<&-; exit 1')
    const line = `{"text":"${'x'.repeat(100_000)}"}`
    for (let count = 0; count < 100; count++) process.send(line)
    expect(await process.ended).toMatchObject({ code: 1 })
    for (let count = 0; count < 100; count++) process.send(line)
    await turn()
    expect(process.unsent).toBe(0)
    expect(handlers.events.toSorted()).toEqual(['drain', 'end'])
  })

  it('has not ended while it is paused', async () => {
    const { handlers, process } = agent('seq 5000')
    process.pause()
    await until(() => !isRunning(process.pid!))
    for (let round = 0; round < 20; round++) await turn()
    expect(handlers.events).toEqual([])
    process.resume()
    await handlers.over
    expect(handlers.lines).toHaveLength(5_000)
  })

  it('is ended also while it is paused', async () => {
    const { handlers, process } = agent('seq 100000')
    process.pause()
    await process.end()
    expect(handlers.events.at(-1)).toBe('end')
  })
})

describe('back pressure', () => {
  it('counts the bytes that an agent has not read, and drains when it has', async () => {
    await using one = agent('read go; cat >/dev/null; echo "{}"')
    const line = `{"text":"${'x'.repeat(99_989)}"}`
    for (let count = 0; count < 80; count++) one.process.send(line)
    const sent = 80 * (line.length + 1)
    for (let round = 0; round < 5; round++) await turn()
    expect(one.process.unsent).toBeLessThanOrEqual(sent)
    await until(() => one.handlers.events.includes('drain'))
    expect(one.process.unsent).toBe(0)
    expect(one.handlers.events.filter(event => event === 'drain')).toHaveLength(1)
  })

  it('holds exactly the sent bytes if the agent does not read', async () => {
    await using one = agent('exec sleep 60')
    const line = `{"text":"${'x'.repeat(99_989)}"}`
    for (let count = 0; count < 40; count++) one.process.send(line)
    for (let round = 0; round < 50; round++) await turn()
    const pipe = 1_024 * 1_024
    expect(one.process.unsent).toBeLessThanOrEqual(40 * (line.length + 1))
    expect(one.process.unsent).toBeGreaterThanOrEqual(40 * (line.length + 1) - pipe)
    expect(one.handlers.events).toEqual([])
  })

  it('stops an agent that we do not read', async () => {
    const handlers = heard(() => one.process.pause())
    await using one = agent('yes "{}"', handlers)
    await until(() => handlers.lines.length > 0)
    const before = handlers.lines.length
    for (let round = 0; round < 50; round++) await turn()
    expect(handlers.lines.length).toBe(before)
    one.process.resume()
    await until(() => handlers.lines.length > before)
  })
})

describe('a handler of lines', () => {
  it('may pause and resume, and gets the next line next', async () => {
    const handlers = heard(() => {
      one.process.pause()
      one.process.resume()
    })
    await using one = agent('seq 50000', handlers)
    await handlers.over
    expect(handlers.lines).toEqual(Array.from({ length: 50_000 }, (_, index) => String(index + 1)))
  })
})

describe('a line beyond the limit', () => {
  it('ends the agent, with the reason', async () => {
    const { handlers, process } = agent('echo "{}"; exec cat /dev/zero')
    const { stderr } = await process.ended
    expect(stderr).toMatch(/it sent a line of more than 67108864 bytes$/)
    expect(handlers.events).toEqual(['{}', 'end: it sent a line of more than 67108864 bytes'])
    expect(isRunning(process.pid!)).toBe(false)
  })
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
