import { setImmediate as tick } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  type AgentProcessSlotOptions,
  createAgentProcessSlot,
} from '../../../src/acp/process/agent-process-slot.ts'
import { ConnectionEnded } from '../../../src/acp/wire/rpc-error.ts'
import { scriptedProcesses } from './scripted-process.ts'

function openSlot(options: Partial<AgentProcessSlotOptions> = {}) {
  const { start, processes } = scriptedProcesses()
  const events: string[] = []
  const slot = createAgentProcessSlot({
    command: { command: 'agent', args: [] },
    start,
    onLine: ({ bytes }, generation) => events.push(`${generation}: ${bytes.toString()}`),
    onEnd: ({ code }) => events.push(`end ${code}`),
    ...options,
  })
  return { slot, processes, events }
}

const initialize = { protocolVersion: 1 }
const canLoad = { agentCapabilities: { loadSession: true } }

/** Starts the first process and answers its `initialize`. */
async function openReady(options: Partial<AgentProcessSlotOptions> = {}) {
  const opened = openSlot({ initialize, ...options })
  const ready = opened.slot.ready()
  opened.processes[0]!.answer(canLoad)
  return { ...opened, agent: await ready }
}

describe('a process slot', () => {
  it('starts one process for several callers and initializes it once', async () => {
    const { slot, processes } = openSlot({ initialize })
    const both = Promise.all([slot.ready(), slot.ready()])
    expect(slot).toMatchObject({ isAlive: true, generation: 0 })
    processes[0]!.answer(canLoad)
    for (const { capabilities } of await both) expect(capabilities.load).toBe(true)
    await slot.ready()
    expect(processes.map(({ received }) => received.map(({ method }) => method))).toEqual([['initialize']])
    expect(processes[0]!.received[0]!.params).toEqual(initialize)
  })

  it('passes on lines with their generation, except answers to its own requests', async () => {
    const { processes, events, agent } = await openReady()
    const listed = agent.request('session/list', {})
    processes[0]!.answer({ sessions: [] })
    processes[0]!.say({ method: 'session/update' })
    expect(await listed).toEqual({ sessions: [] })
    expect(events).toEqual(['0: {"method":"session/update"}'])
  })

  it('rejects open requests before it reports the end of the process, and starts the next one on demand', async () => {
    const { slot, processes, agent, events } = await openReady({
      onEnd: ({ code }) => events.push(`end ${code}, alive: ${slot.isAlive}`),
    })
    const rejected = agent.request('session/list', {}).catch((error: unknown) => error)
    processes[0]!.exit({ code: 3, stderr: 'out of memory\n' })
    expect(await rejected).toBeInstanceOf(ConnectionEnded)
    expect(events).toEqual(['end 3, alive: false'])
    expect(slot.exitMessage).toBe('the agent has ended (code 3): out of memory')
    slot.send('dropped')
    const ready = slot.ready()
    processes[1]!.answer({})
    expect((await ready).capabilities.load).toBe(false)
    expect(slot.generation).toBe(1)
    expect(processes.map(({ received }) => received.length)).toEqual([2, 1])
  })

  it('throws ConnectionEnded if the process ends before it is ready, and tries again the next time', async () => {
    const { slot, processes } = openSlot({ initialize })
    const failed = slot.ready().catch((error: unknown) => error)
    processes[0]!.exit({ code: 1, stderr: 'no config' })
    expect(await failed).toBeInstanceOf(ConnectionEnded)
    expect(slot).toMatchObject({ isAlive: false, lastEnd: { code: 1, stderr: 'no config' } })
    const ready = slot.ready()
    processes[1]!.answer({})
    await ready
    expect(slot.isAlive).toBe(true)
  })

  it('ends a process that refuses to be initialized', async () => {
    const { slot, processes, events } = openSlot({ initialize })
    const failed = slot.ready()
    processes[0]!.refuse(-32_603, 'wrong version')
    await expect(failed).rejects.toThrow('wrong version')
    expect(slot.isAlive).toBe(false)
    expect(events).toEqual(['end 0'])
  })

  it('leaves the first `initialize` to the client, and repeats it and the sign-in for the next process', async () => {
    const { slot, processes } = openSlot()
    slot.launch()
    expect(slot).toMatchObject({ isAlive: true, isIntroduced: false })
    slot.introduced({ protocolVersion: 1, clientInfo: { name: 'editor' } }, canLoad)
    slot.signedIn({ methodId: 'key' })
    expect((await slot.ready()).capabilities.load).toBe(true)
    expect(processes[0]!.received).toEqual([])
    processes[0]!.exit()
    await tick()
    const ready = slot.ready()
    const [, next] = processes
    next!.answer({})
    await tick()
    next!.answer({})
    await ready
    expect(next!.received.map(({ method, params }) => [method, params])).toEqual([
      ['initialize', { protocolVersion: 1, clientInfo: { name: 'editor' } }],
      ['authenticate', { methodId: 'key' }],
    ])
  })

  it('keeps a process that refuses the sign-in, so that the client can sign in again', async () => {
    const { slot, processes } = await openReady()
    slot.signedIn({ methodId: 'old' })
    processes[0]!.exit()
    await tick()
    const failed = slot.ready()
    processes[1]!.answer({})
    await tick()
    processes[1]!.refuse(-32_000, 'expired')
    await expect(failed).rejects.toThrow('expired')
    expect(slot.isAlive).toBe(true)
  })

  it('throws ConnectionEnded if the process ended before the client initialized it', async () => {
    const { slot, processes } = openSlot()
    slot.launch()
    processes[0]!.exit({ code: 127, stderr: 'x: command not found' })
    await tick()
    await expect(slot.ready()).rejects.toThrow('the agent ended before it was introduced')
    expect(processes).toHaveLength(1)
  })

  it('ends the last process, and resolves with null if there never was one', async () => {
    expect(await openSlot().slot.end()).toBeNull()
    const { slot } = await openReady()
    expect(await slot.end()).toMatchObject({ code: 0 })
    expect(await slot.end()).toMatchObject({ code: 0 })
  })
})
