import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Refused } from './agents/client.ts'
import { agentCommand, openStage } from './agents/harness.ts'
import { answerMarker, marker, slowly, timesGiven } from './agents/model-server.ts'
import { startSdkClient } from './agents/sdk-client.ts'
import { openThread } from './agents/shown.ts'
import { noise, receivedFile, strangeLinesFor } from './agents/strange-lines.ts'

/** The editor of the tests sees and counts what is really sent, and its model what it is really given. */

const [first, second] = [marker('first'), marker('second')]

describe('the editor of the tests', () => {
  it('shows each message of a good agent once, before its death and after it', async () => {
    await using stage = await openStage()
    const before = await stage.start(agentCommand('good'))
    const sessionId = await before.newSession()
    const call = { type: 'tool', name: 'read', title: 'Read', input: {}, output: 'x', asks: true } as const
    stage.model.next({ type: 'thought', text: 'hm' }, call, ...slowly(`done, ${answerMarker(1)}`, 1))
    expect(await before.prompt(sessionId, first)).toEqual({ stopReason: 'end_turn' })
    const shown = [
      ['user', first],
      ['thought', 'hm'],
      ['tool', 'Read (completed)'],
      ['assistant', `done, ${answerMarker(1)}`],
    ]
    const linesOf = (client: typeof before) =>
      client.thread(sessionId).messages.map(({ role, text }) => [role, text])
    expect(linesOf(before)).toEqual(shown)
    await before.kill9()
    expect(before.leftovers()).toEqual([])

    const after = await stage.start(agentCommand('good'))
    await after.load(sessionId)
    expect(linesOf(after)).toEqual(shown)
    expect(after.updates(sessionId).map(({ sessionUpdate }) => sessionUpdate)).toHaveLength(4)
    await after.prompt(sessionId, second)
    expect(timesGiven(stage.model.last, first)).toBe(1)
    expect(after.thread(sessionId).times(first)).toBe(1)
    expect(await after.end()).toBe(0)
  })

  it('counts texts that are shown twice', () => {
    const thread = openThread()
    const chunk = (text: string, messageId?: string) =>
      thread.hear({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, messageId })
    thread.say('what?')
    chunk('th')
    chunk('at')
    expect(thread.times('that')).toBe(1)
    chunk('that')
    expect(thread.times('that')).toBe(2)
    expect(thread.messages).toHaveLength(2)
    chunk('that', 'a')
    chunk('that', 'b')
    expect(thread.messages).toHaveLength(3)
    expect(thread.times('that')).toBe(4)
    thread.say('what?')
    thread.hear({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'what?' } })
    expect(thread.times('what?')).toBe(3)
    thread.clear()
    expect(thread.messages).toEqual([])
  })

  it('kills in the middle of an answer, exactly where the model waits', async () => {
    await using stage = await openStage()
    const before = await stage.start(agentCommand('good'))
    const sessionId = await before.newSession()
    stage.model.answerTo(
      first,
      { type: 'text', text: 'half an ' },
      { type: 'wait' },
      { type: 'text', text: 'answer' },
    )
    const turn = before.prompt(sessionId, first)
    turn.catch(() => undefined)
    await stage.model.stopped()
    await before.untilShown(sessionId, 'half an ')
    await before.kill9()
    await expect(turn).rejects.toThrow('the process has ended')
    stage.model.proceed()
    const after = await stage.start(agentCommand('good'))
    await after.load(sessionId)
    expect(after.thread(sessionId).messages.map(({ text }) => text)).toEqual([first])
  })

  it('finds and kills processes that have left their parent and their group', async () => {
    await using stage = await openStage()
    const child = `setInterval(() => {}, 1000)`
    const parent = `
      const { spawn } = require('node:child_process')
      spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { detached: true, stdio: 'ignore' }).unref()
      process.stdin.once('data', () => console.log('{"jsonrpc":"2.0","id":0,"result":{}}'))
      process.stdin.on('end', () => process.exit(0)).resume()`
    const client = await stage.start([process.execPath, '-e', parent])
    expect(client.leftovers()).toHaveLength(2)
    await expect(client.end()).rejects.toThrow('it has left processes behind')
    expect(client.leftovers()).toEqual([])
  })

  it('reports why a start failed, and the code of a refusal', async () => {
    await using stage = await openStage()
    await expect(stage.start(['no-such-command-anywhere'])).rejects.toThrow('ENOENT')
    const client = await stage.start(agentCommand('unknown-codes', '--code=-32603'))
    const refusal = await client.load('unknown').catch(error => error)
    expect(refusal).toBeInstanceOf(Refused)
    expect(refusal.code).toBe(-32_603)
  })
})

describe('the strange agent', () => {
  it('sends unknown updates byte for byte, and receives the bytes that it is sent', async () => {
    await using stage = await openStage()
    const client = await stage.start(agentCommand('strange', '--noise'), {
      onRequest: method => (method === '_strange/ask' ? { yes: 1 } : undefined),
    })
    expect(client.lines[0]).toContain('"range":9007199254740993')
    const sessionId = await client.newSession()
    const line = `{"jsonrpc":"2.0","id":"mine","method":"_strange/echo","params":{"n":9007199254740993,"a":1,"a":2}}`
    client.send(line)
    await client.until(({ id }) => id === 'mine')
    expect(client.lines.at(-1)).toBe(`{"jsonrpc":"2.0","id":"mine","result":${line}}`)
    expect(await client.prompt(sessionId, first)).toMatchObject({ stopReason: 'end_turn' })
    expect(client.lines).toEqual(expect.arrayContaining([noise, ...strangeLinesFor(sessionId)]))
    expect(client.thread(sessionId).messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    const heard = readFileSync(join(stage.state, receivedFile), 'utf8').split('\n')
    expect(heard).toContain(line)
    expect(heard).toContain('{"jsonrpc":"2.0","id":"strange-1","result":{"yes":1}}')
    expect(heard).toContain(
      '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no method _strange/zero"}}',
    )
    expect(stage.model.last.messages).toEqual([{ role: 'user', text: first }])
  })

  it('is not understood by a client on the SDK, which drops unknown updates', async () => {
    await using stage = await openStage()
    await using client = await startSdkClient(stage, agentCommand('strange'))
    await client.prompt(await client.newSession(), first)
    const said = JSON.stringify(client.updates)
    expect(said).not.toContain('hologram_update')
    expect(said).not.toContain('vanilla')
    expect(said).not.toContain('9007199254740993')
    expect(client.told('agent')).toMatch(/^with meta. ANSWER-1/)
  })
})
