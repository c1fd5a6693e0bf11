import { describe, expect, it } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import { agentCommand } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { type Hosting, openHosting } from './hosting.ts'

/** An agent never has the memory of another conversation, or of another branch. */

const [first, second, third] = [marker('first'), marker('second'), marker('third')]

function given({ model }: Hosting, ...texts: readonly string[]): readonly number[] {
  return texts.map(text => timesGiven(model.last, text))
}

async function moveTo({ store }: Hosting, to: MessageId | null): Promise<void> {
  const { branch } = await store.resolve('talk')
  await store.moveBranch(branch, branch.head, to)
}

describe.each([
  ['that remembers everything', agentCommand('good')],
  ['that forgets', agentCommand('forgetful')],
])('an agent %s', (_, command) => {
  it('does not know messages of the other branch on a fork, in the same process and in a new one (S4-27)', async () => {
    await using hosting = await openHosting()
    const host = hosting.host(command)
    await host.say('talk', first)
    const [, answer] = await hosting.said('talk')
    await host.say('talk', second)
    const { conversationId } = await hosting.branchOf('talk')
    const fork = { conversationId, name: 'aside' }
    await hosting.store.createBranch(conversationId, answer!.id, { name: fork.name })
    await host.say(fork, third)
    expect(given(hosting, first, answerMarker(1), second, answerMarker(2), third)).toEqual([1, 1, 0, 0, 1])
    await host.say('talk', 'again')
    expect(given(hosting, first, second, third)).toEqual([1, 1, 0])

    await host.close()
    const after = hosting.host(command)
    await after.say(fork, 'and again')
    expect(given(hosting, first, second, third, 'again')).toEqual([1, 0, 1, 1])
    await after.say('talk', 'at last')
    expect(given(hosting, first, second, third)).toEqual([1, 1, 0])
  })

  it('does not know messages that the branch was moved back before, and begins a new session (S4-27)', async () => {
    await using hosting = await openHosting()
    const host = hosting.host(command)
    await host.say('talk', first)
    const [, answer] = await hosting.said('talk')
    await host.say('talk', second)
    await moveTo(hosting, answer!.id)
    const { memory } = await host.say('talk', third)
    expect(memory).toMatchObject({ outcome: 'injected', injected: 2 })
    expect(given(hosting, first, answerMarker(1), second, third)).toEqual([1, 1, 0, 1])
    await moveTo(hosting, null)
    const anew = await hosting.host(command).say('talk', 'anew')
    expect(anew.memory).toMatchObject({ outcome: 'fresh', injected: 0 })
    expect(hosting.model.last.messages).toEqual([{ role: 'user', text: 'anew' }])
  })
})

it('an agent whose last message was deleted begins a new session, and gets the rest injected', async () => {
  await using hosting = await openHosting()
  const host = hosting.host('good')
  await host.say('talk', first)
  await host.say('talk', second)
  const [, , question] = await hosting.said('talk')
  await hosting.store.deleteMessages([question!.id], { recursive: true })
  const { memory } = await host.say('talk', third)
  expect(memory).toMatchObject({ outcome: 'injected', injected: 2 })
  expect(given(hosting, first, answerMarker(1), second, third)).toEqual([1, 1, 0, 1])
})

describe('several conversations and agents at once', () => {
  it('do not mix, neither the conversations of one agent nor the agents on one store (S4-28, S4-38)', async () => {
    await using hosting = await openHosting()
    const hosts = ['good', 'forgetful'].map(name => hosting.host(agentCommand(name as 'good')))
    const talks = hosts.flatMap((host, h) => [0, 1, 2].map(n => ({ host, key: `talk-${h}-${n}` })))
    const round = (host: (typeof talks)[number]['host'], key: string, n: number) =>
      host.say(key, marker(`${key}-round-${n}`))
    for (const n of [1, 2]) await Promise.all(talks.map(({ host, key }) => round(host, key, n)))
    await hosts[0]!.killAgent()
    await hosts[1]!.close()
    const again = hosting.host('forgetful')
    await Promise.all(talks.map(({ host, key }) => round(host === hosts[1] ? again : host, key, 3)))
    for (const { key } of talks) {
      const turn = hosting.model.turns.find(({ messages }) =>
        messages.at(-1)!.text.includes(marker(`${key}-round-3`)),
      )
      const all = turn!.messages.map(({ text }) => text).join('\n')
      for (const n of [1, 2, 3])
        expect(timesGiven(turn!, marker(`${key}-round-${n}`)), `${key}, round ${n}`).toBe(1)
      for (const other of talks)
        if (other.key !== key) expect(all.includes(marker(other.key)), `${other.key} in ${key}`).toBe(false)
      expect(await hosting.said(key)).toHaveLength(6)
    }
  })

  it('take turns in one conversation, and each agent gets the turns of the other injected', async () => {
    await using hosting = await openHosting()
    const [good, other] = [hosting.host('good'), hosting.host('forgetful')]
    await good.say('talk', first)
    const handed = await other.say('talk', second)
    expect(handed.memory).toMatchObject({ outcome: 'injected', injected: 2 })
    expect(given(hosting, first, answerMarker(1), second)).toEqual([1, 1, 1])
    const back = await good.say('talk', third)
    expect(back.memory).toMatchObject({ outcome: 'completed', injected: 2, failed: [] })
    expect(given(hosting, first, answerMarker(1), second, answerMarker(2), third)).toEqual([1, 1, 1, 1, 1])
  })
})
