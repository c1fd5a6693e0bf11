import { describe, expect, it } from 'vitest'
import type { SettingChange } from '../../../src/acp/host/host-settings.ts'
import { agentCommand } from '../agents/harness.ts'
import { openHosting, type TestHost } from './hosting.ts'

/** Modes, models, options and slash commands of another program's agent. */

const values = async (host: TestHost, target: string) => {
  const { text } = (await host.say(target, 'settings')).reply
  const { directories: _, ...settings } = JSON.parse(text) as Record<string, unknown>
  return settings
}
const now = ({ settings }: Awaited<ReturnType<TestHost['offer']>>) =>
  settings.map(({ id, value }) => `${id}=${value}`).join(' ')

describe('the settings of an agent', () => {
  it.each([
    { what: 'options', flags: [], model: 'llm', names: 'mode=ask llm=small thinks=off' },
    { what: 'lists of modes and models', flags: ['--older'], model: 'model', names: 'mode=ask model=small' },
  ])('are listed and set if it has $what, by id or name, and again in its next process', async one => {
    await using hosting = await openHosting()
    const command = agentCommand('adjustable', ...one.flags)
    const host = hosting.host(command)
    const offer = await host.offer('talk')
    expect(now(offer)).toBe(one.names)
    expect(offer.commands.map(({ name, hint }) => `${name}:${hint}`)).toEqual([
      'init:what to mind',
      'compact:null',
      'new:null',
    ])
    await host.set('talk', 'mode', 'PLAN')
    expect(now(await host.set('talk', 'model', 'large'))).toContain(`mode=plan ${one.model}=large`)
    expect(await values(host, 'talk')).toMatchObject({ mode: 'plan', model: 'large' })
    await host.killAgent()
    expect(await values(host, 'talk')).toMatchObject({ mode: 'plan', model: 'large' })
    await host.close()
    // Another process of ours, and a branch.
    const next = hosting.host(command)
    expect(await values(next, 'talk')).toMatchObject({ mode: 'plan', model: 'large' })
    expect(await values(next, 'another')).toMatchObject({ mode: 'ask', model: 'small' })
    const { conversationId } = await hosting.branchOf('talk')
    await hosting.store.createBranch(conversationId, null, { name: 'side', key: 'side' })
    expect(await values(next, 'side')).toMatchObject({ mode: 'plan' })
    // Other agents have other settings.
    expect(now(await hosting.host(command, { name: 'other' }).offer('talk'))).toBe(one.names)
  })

  it('are refused if the agent does not offer them, before the prompt reaches it', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('adjustable', { settings: { mode: 'yolo' } })
    await expect(host.offer(null)).rejects.toThrow(
      'mode: there is no "yolo". The agent offers ask, code, plan',
    )
    await expect(host.ask('talk', 'hello')).rejects.toThrow('there is no "yolo"')
    expect(await hosting.words('talk')).toEqual(['user: hello'])
    await expect(host.set('talk', 'colour', 'red')).rejects.toThrow('there is no "yolo"')
    const fixed = hosting.host(agentCommand('adjustable', '--fixed'))
    await expect(fixed.set('other', 'mode', 'plan')).rejects.toThrow('the agent offers no settings')
  })

  it('may be given for every conversation of a host, and a switch is on or off', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('adjustable', { settings: { model: 'large', thinks: 'yes' } })
    const expected = { mode: 'ask', model: 'large', thinks: true }
    expect(await values(host, 'one')).toEqual(expected)
    expect(await values(host, 'two')).toEqual(expected)
    await host.set('two', 'thinks', 'off')
    expect(await values(host, 'two')).toEqual({ ...expected, thinks: false })
  })

  it('that the agent changes itself are reported, and kept', async () => {
    await using hosting = await openHosting()
    const changes: SettingChange[] = []
    const host = hosting.host('adjustable', { onSetting: change => changes.push(change) })
    await host.set('talk', 'mode', 'code')
    const { events } = await host.say('talk', 'mode plan')
    expect(events.filter(event => event.type === 'setting')).toMatchObject([
      { setting: { id: 'mode', value: 'plan' }, problem: null },
    ])
    await host.killAgent()
    expect(await values(host, 'talk')).toMatchObject({ mode: 'plan' })
    expect(changes).toEqual([])
  })

  it('that a new version of the agent lacks are reported, and the prompt is answered', async () => {
    await using hosting = await openHosting()
    await hosting.host('adjustable').set('talk', 'model', 'large')
    const next = hosting.host(agentCommand('adjustable', '--without', 'large'))
    const { events, reply } = await next.say('talk', 'hello')
    expect(reply.text).toBe('heard: hello')
    expect(events.find(event => event.type === 'setting')).toMatchObject({
      setting: { id: 'llm', value: 'large' },
      problem: 'llm: there is no "large". The agent offers small',
    })
  })

  it('can be chosen before the first message, which stores nothing, in the session of the next conversation', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('adjustable')
    expect(await host.knownOffer(null)).toBeNull()
    await host.set(null, 'mode', 'plan')
    expect((await hosting.store.listConversations({})).items).toEqual([])
    expect(now((await host.knownOffer(null))!)).toContain('mode=plan')
    expect(await values(host, 'first')).toMatchObject({ mode: 'plan' })
    expect(await values(host, 'second')).toMatchObject({ mode: 'ask' })
    await host.killAgent()
    expect(await values(host, 'first')).toMatchObject({ mode: 'plan' })
  })

  it('and its directories are given to an agent that accepts them', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('adjustable', { additionalDirectories: ['/tmp'] })
    expect(JSON.parse((await host.ask('talk', 'settings')).text)).toMatchObject({ directories: ['/tmp'] })
    const { reply } = await hosting.host('good', { additionalDirectories: ['/tmp'] }).say('other', 'hello')
    expect(reply.status).toBe('complete')
  })
})
