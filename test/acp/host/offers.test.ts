import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ElicitationRequest } from '../../../src/acp/host/elicitation.ts'
import type { HostOptions } from '../../../src/acp/host/host-options.ts'
import { allowPermission } from '../../../src/acp/host/permission.ts'
import { allowTools } from '../../../src/agent/approval/approval.ts'
import type { ApprovalRequest } from '../../../src/core/approval.ts'
import { openHosting } from './hosting.ts'

/** Files, terminals and forms that a host offers to its agent. */

async function offering(options: Partial<HostOptions> = {}) {
  const hosting = await openHosting()
  const asked: ApprovalRequest[] = []
  const host = hosting.host('adjustable', {
    offers: ['files', 'terminals'],
    approve(request, signal) {
      asked.push(request)
      return (options.approve ?? allowTools(['all']))(request, signal)
    },
    ...(options.onPermission && { onPermission: options.onPermission }),
    ...(options.onElicitation && { onElicitation: options.onElicitation }),
    ...(options.additionalDirectories && { additionalDirectories: options.additionalDirectories }),
  })
  const path = (name: string) => join(hosting.cwd, name)
  const ask = async (words: string) => (await host.say('talk', words)).reply.text
  return { hosting, host, asked, path, ask, [Symbol.asyncDispose]: () => hosting[Symbol.asyncDispose]() }
}

describe('files of a host', () => {
  it('are written after a question that has the change, and read without one', async () => {
    await using at = await offering()
    const file = at.path('a.txt')
    writeFileSync(file, 'old\n')
    expect(await at.ask(`write ${file} new`)).toBe('written')
    expect(readFileSync(file, 'utf8')).toBe('new')
    expect(at.asked).toMatchObject([{ name: 'write_file', kind: 'edit', title: 'write a.txt', reason: null }])
    expect(at.asked[0]!.preview).toMatchObject({ type: 'diff', oldText: 'old\n', newText: 'new' })
    writeFileSync(file, 'one\ntwo\nthree\n')
    expect(await at.ask(`read ${file}`)).toBe('read: one\ntwo')
    expect(at.asked).toHaveLength(1)
    expect(await at.ask(`read ${at.path('none')}`)).toMatch(/^refused: -32002 there is no file/)
    const [event] = await at.hosting.traces('talk', 'permission')
    expect(event?.data).toMatchObject({
      toolCall: { title: 'write a.txt' },
      answer: { optionId: 'allow_once' },
    })
  })

  it('are not written if the person says no, and a path that leads out of the project has a reason', async () => {
    await using at = await offering({ approve: () => 'deny' })
    expect(await at.ask(`write ${at.path('a.txt')} new`)).toMatch(/^refused: -32603 The person was asked/)
    expect(existsSync(at.path('a.txt'))).toBe(false)
    const outside = join(at.hosting.cwd, '../outside.txt')
    symlinkSync(outside, at.path('link'))
    for (const path of [outside, at.path('link'), at.path('.env')])
      expect(await at.ask(`write ${path} x`)).toMatch(/^refused: -32603/)
    expect(at.asked.map(({ reason }) => reason)).toEqual([
      null,
      'outside the project',
      'outside the project',
      'may contain secrets',
    ])
    expect(existsSync(outside)).toBe(false)
  })

  it('include those of additional directories', async () => {
    await using stage = await openHosting()
    const more = join(stage.state, '..', 'more')
    mkdirSync(more)
    await using at = await offering({ additionalDirectories: [more] })
    expect(await at.ask(`write ${join(more, 'a.txt')} x`)).toBe('written')
    expect(at.asked[0]!.reason).toBeNull()
  })

  it('are not asked for twice if the agent has asked with the same path', async () => {
    await using at = await offering({ onPermission: allowPermission })
    expect(await at.ask(`edit ${at.path('a.txt')} x`)).toBe('edited')
    expect(at.asked).toEqual([])
    // Only in the same turn.
    expect(await at.ask(`write ${at.path('a.txt')} y`)).toBe('written')
    expect(at.asked).toHaveLength(1)
  })

  it('are not known to an agent of a host that does not offer them', async () => {
    await using hosting = await openHosting()
    const { reply } = await hosting.host('adjustable').say('talk', `read ${join(hosting.cwd, 'a')}`)
    expect(reply.text).toMatch(/^refused: -32601/)
  })
})

describe('terminals of a host', () => {
  it('run a command after a question, and its output is the result of the call', async () => {
    await using at = await offering()
    expect(await at.ask('run echo $GREETING; exit 3')).toBe('exit 3, 6 characters')
    expect(at.asked).toMatchObject([
      { name: 'run_command', kind: 'execute', title: 'run GREETING=hello echo $GREETING; exit 3' },
    ])
    const [, , result] = await at.hosting.said('talk')
    expect(result?.content).toMatchObject([{ type: 'tool_result', output: 'hello\n' }])
    expect(JSON.stringify(result?.content)).toContain('"exit_code":3')
  })

  it('cut an output that the agent did not limit, end with a kill, and end with the host', async () => {
    await using at = await offering()
    expect(await at.ask('run yes | head -c 3000000')).toBe('exit 0, 1048576 characters, cut')
    const [, , result] = await at.hosting.said('talk')
    const [stored] = result!.content as unknown as readonly [{ readonly output: string }]
    expect(stored.output).toContain('bytes left out')
    expect(stored.output.length).toBeLessThan(140_000)
    expect(await at.ask('run sleep 600')).toMatch(/^exit SIGTERM/)
    expect(await at.ask('run /no/such/program')).toMatch(/^exit 127/)
  })

  it('are refused without `approve`', async () => {
    await using hosting = await openHosting()
    const { reply, events } = await hosting
      .host('adjustable', { offers: ['terminals'] })
      .say('talk', 'run id')
    expect(reply.text).toContain('no person can be asked here')
    expect(events.find(event => event.type === 'asked')).toMatchObject({ isAllowed: false })
  })
})

describe('forms of an agent', () => {
  it('reach the person with their fields, and the values reach the agent', async () => {
    const requests: ElicitationRequest[] = []
    await using at = await offering({
      onElicitation: async request => {
        requests.push(request)
        return request.mode === 'form'
          ? { action: 'accept', content: { name: 'x', port: 1 } }
          : { action: 'decline' }
      },
    })
    expect(JSON.parse(await at.ask('form'))).toEqual({ action: 'accept', content: { name: 'x', port: 1 } })
    const [form] = requests
    expect(
      form?.mode === 'form' &&
        form.fields.map(({ name, type, isRequired }) => `${name} ${type} ${isRequired}`),
    ).toEqual([
      'name text true',
      'port integer true',
      'region choice true',
      'tls switch false',
      'note text false',
    ])
    expect(JSON.parse(await at.ask('page'))).toEqual({ action: 'decline' })
    expect(requests[1]).toMatchObject({ mode: 'url', url: 'https://example.com/sign-in' })
  })

  it('are cancelled with the turn, and unknown to an agent of a host without a person', async () => {
    const stop = new AbortController()
    await using at = await offering({
      onElicitation: (_, signal) => {
        setImmediate(() => stop.abort())
        return new Promise(resolve => {
          signal.addEventListener('abort', () => resolve({ action: 'accept' }))
        })
      },
    })
    const { reply } = await at.host.say('talk', 'form', { signal: stop.signal })
    expect(reply.text).toBe('{"action":"cancel"}')
    await using hosting = await openHosting()
    expect((await hosting.host('adjustable').say('talk', 'form')).reply.text).toMatch(/^refused: -32601/)
  })
})
