import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { pathOf } from '../../../src/core/path.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { marker, timesGiven } from '../agents/model-server.ts'
import { openInProcess } from './in-process.ts'

/** Agents that do not answer, and turns that are stopped with their session. */

const hanging = (...flags: readonly string[]) => [
  process.execPath,
  join(import.meta.dirname, 'hanging-agent.ts'),
  ...flags,
]
const limits = { answerMs: 1_500, cancelMs: 300 }
const isShown = (text: string) => (message: { method?: string; params?: unknown }) =>
  message.method === 'session/update' && JSON.stringify(message.params).includes(text)

describe('a running turn', () => {
  it.each(['session/close', 'session/delete'])(
    'is cancelled by %s, and the agent does not work on',
    async method => {
      await using stage = await openStage()
      const editor = await stage.start(behindProxy(agentCommand('forgetful')))
      const id = await editor.newSession()
      stage.model.next({ type: 'text', text: 'HALF-SAID' }, { type: 'wait' }, { type: 'text', text: 'REST' })
      const prompted = editor.prompt(id, marker('first'))
      await editor.untilShown(id, 'HALF-SAID')
      expect(await editor.request(method, { sessionId: id })).toEqual({})
      expect(await prompted).toEqual({ stopReason: 'cancelled' })
      stage.model.proceed()
      const other = await editor.newSession()
      await editor.prompt(other, marker('second'))
      expect(editor.thread(id).times('REST')).toBe(0)
      if (method === 'session/delete') return
      await editor.load(id)
      expect(editor.thread(id).times('HALF-SAID')).toBe(1)
      await editor.prompt(id, marker('third'))
      expect(['HALF-SAID', marker('first')].map(text => timesGiven(stage.model.last, text))).toEqual([1, 1])
    },
  )
})

describe('an agent that does not end a cancelled turn', () => {
  it('is started again with its memory, and the log says so', async () => {
    await using proxy = await openInProcess(hanging('--never=cancel'), { limits })
    const id = await proxy.begin()
    const prompted = proxy.prompt(id, 'slow one')
    await proxy.until(isShown('heard: slow one'))
    proxy.notify('session/cancel', { sessionId: id })
    expect((await prompted).result).toEqual({ stopReason: 'cancelled' })
    expect(proxy.log.join('\n')).toContain('has not ended a cancelled turn within 0.3 s: it is started again')
    const next = await proxy.prompt(id, 'the next one')
    expect(next.result).toEqual({ stopReason: 'end_turn' })
    const told = proxy.shown(id).split('CANCEL-HEARD').slice(1).join('')
    for (const text of ['slow one', 'the next one']) expect(told).toContain(text)
    const { items } = await proxy.store.listConversations()
    const path = (await pathOf(proxy.store, items[0]!.branch.head!)).map(textOf)
    expect(path.filter((_, i) => i % 2 === 0)).toEqual(['slow one', 'the next one'])
  })

  it('keeps its process if another session works in it, and the late answer is not relayed', async () => {
    await using proxy = await openInProcess(hanging('--never=cancel'), { limits })
    const [one, other] = [await proxy.begin(), await proxy.begin()]
    const prompted = proxy.prompt(one, 'slow one')
    void proxy.prompt(other, 'slow other')
    await proxy.until(isShown('heard: slow one'))
    await proxy.until(isShown('heard: slow other'))
    proxy.notify('session/cancel', { sessionId: one })
    expect((await prompted).result).toEqual({ stopReason: 'cancelled' })
    expect(proxy.log.join('\n')).toContain('it continues in another session')
    expect((await proxy.prompt(one, 'the next one')).result).toEqual({ stopReason: 'end_turn' })
    expect(proxy.log.join('\n')).not.toContain('the agent has ended')
  })
})

describe('an agent that does not answer', () => {
  it('initialize is started again, once', async () => {
    await using proxy = await openInProcess(hanging('--never=initialize', '--once'), { limits })
    expect(proxy.log.join('\n')).toContain('has not answered initialize for 1.5 s: it is started again')
    const id = await proxy.begin()
    expect((await proxy.prompt(id, 'hello')).result).toEqual({ stopReason: 'end_turn' })
    await using stuck = await openInProcess(hanging('--never=initialize'), { limits })
    expect(stuck.messages[0]?.error?.message).toContain('the agent has ended')
  })

  it('session/load does not delay the transcript', async () => {
    await using proxy = await openInProcess(hanging('--never=load'), { limits })
    const id = await proxy.begin()
    await proxy.prompt(id, 'QUOKKA')
    const died = proxy.prompt(id, 'slow one')
    await proxy.until(isShown('heard: slow one'))
    process.kill(Number(/\d+/.exec(id)![0]), 'SIGKILL')
    await died
    const before = proxy.messages.length
    const loaded = proxy.request('session/load', { sessionId: id })
    await vi.waitUntil(() => JSON.stringify(proxy.messages.slice(before)).includes('user_message_chunk'))
    expect(proxy.log.join('\n')).not.toContain('has not answered session/load')
    expect((await loaded).error).toBeUndefined()
    expect(proxy.log.join('\n')).toContain('has not answered session/load')
  })

  it('session/load is started again, and told its history', async () => {
    await using proxy = await openInProcess(hanging('--never=load'), { limits })
    const id = await proxy.begin()
    await proxy.prompt(id, 'QUOKKA')
    const died = proxy.prompt(id, 'slow one')
    await proxy.until(isShown('heard: slow one'))
    const [pid] = /\d+/.exec(id)!
    process.kill(Number(pid), 'SIGKILL')
    await died
    const before = proxy.messages.length
    expect((await proxy.prompt(id, 'WOMBAT')).result).toEqual({ stopReason: 'end_turn' })
    expect(proxy.log.join('\n')).toContain('has not answered session/load for 1.5 s: it is started again')
    const told = JSON.stringify(proxy.messages.slice(before))
    for (const text of ['QUOKKA', 'slow one', 'WOMBAT']) expect(told).toContain(text)
  })
})
