import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentCommand, behindProxy, openStage, type Stage } from '../agents/harness.ts'
import { noise, receivedFile, strangeLinesFor } from '../agents/strange-lines.ts'

/** Lines that the proxy has no part in pass byte for byte, in both directions. */

const command = behindProxy(agentCommand('strange', '--noise'))

const receivedBy = ({ state }: Stage) => readFileSync(join(state, receivedFile), 'utf8').trimEnd().split('\n')

describe('behind the proxy', () => {
  it('lines of the agent reach the editor unchanged', async () => {
    await using stage = await openStage()
    const editor = await stage.start(command, {
      onRequest: method => (method.startsWith('_') ? { ok: 1 } : undefined),
    })
    const id = await editor.newSession()
    await editor.prompt(id, 'hello')
    for (const line of strangeLinesFor(id)) expect(editor.lines).toContain(line)
    expect(editor.lines).toContain(noise)
    expect(editor.lines.at(-1)).toContain('"_meta":{"strange.dev/cost":9007199254740993}')
  })

  it('lines of the editor reach the agent unchanged', async () => {
    await using stage = await openStage()
    const editor = await stage.start(command, {
      onRequest: method => (method.startsWith('_') ? { ok: 1 } : undefined),
    })
    const id = await editor.newSession()
    const lines = [
      `{"jsonrpc":"2.0","method":"_editor/moved","params":{"sessionId":"${id}","at":9007199254740993,"at":1.0}}`,
      `{ "id" : "e-1" , "jsonrpc":"2.0","method":"_strange/echo", "params" : {"x":"\\u00e9\\/","n":1e400} }`,
      `{"jsonrpc":"2.0","id":"e-2","method":"session/prompt","params":{"sessionId":"${id}","_meta":{"traceparent":"00"},"prompt":[{"type":"text","text":"hi","size":1.50}]}}`,
    ]
    for (const line of lines) editor.send(line)
    await editor.until(({ id: answered }) => answered === 'e-2')
    const received = receivedBy(stage)
    for (const line of lines) expect(received).toContain(line)
  })

  it('the capabilities of the agent are complete, and ours are added', async () => {
    await using stage = await openStage()
    const editor = await stage.start(command)
    expect(editor.agent.agentCapabilities).toEqual({
      loadSession: true,
      telepathy: { range: 9007199254740992 },
      _meta: { 'strange.dev': { hello: true } },
      sessionCapabilities: { list: {}, resume: {}, fork: {}, delete: {}, close: {} },
    })
    expect(editor.lines[0]).toContain('"telepathy":{"range":9007199254740993}')
  })

  it('an agent that cannot be started is reported as an error, and the proxy exits', async () => {
    await using stage = await openStage()
    const started = stage.start(behindProxy(['no-such-agent-anywhere', '--acp']))
    await expect(started).rejects.toThrow(/no-such-agent-anywhere/)
  })
})
