import { describe, expect, it, vi } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { agentCommand } from '../agents/harness.ts'
import { answerMarker, marker, slowly, timesGiven } from '../agents/model-server.ts'
import { type Hosting, openHosting } from './hosting.ts'

/** If an agent dies in the middle of an answer, the text that has arrived is stored, and the next process
 *  knows it. */

const [first, second, third] = [marker('first'), marker('second'), marker('third')]
const half = 'HALF of an answer'

function expectOnce({ model }: Hosting, ...texts: readonly string[]): void {
  for (const text of texts) expect([text, timesGiven(model.last, text)]).toEqual([text, 1])
}

describe('an agent that dies in the middle of an answer', () => {
  it.each([
    ['keeps nothing', 'nothing', 'injected', 4],
    ['keeps the question', 'question', 'completed', 1],
    ['keeps whole turns', 'turns', 'completed', 2],
  ] as const)(
    'is started again by the next message, and knows everything once, if it %s',
    async (_, keeps, outcome, injected) => {
      await using hosting = await openHosting()
      const host = hosting.host(agentCommand('dies', `--keeps=${keeps}`))
      await host.say('talk', first)
      hosting.model.answerTo(second, ...slowly(half, 20), { type: 'die' })
      await expect(host.say('talk', second)).rejects.toThrow(
        /it ended \(code 1\)\. The conversation is stored; the next message starts the agent again/,
      )
      const last = (await hosting.said('talk')).at(-1)!
      expect([last.role, textOf(last), last.metadata]).toEqual(['assistant', half, { interrupted: true }])
      const { memory } = await host.say('talk', third)
      expect(memory).toMatchObject({ outcome, injected })
      expectOnce(hosting, first, answerMarker(1), second, half, third)
      expect(host.outcomes()).toMatchObject({ fresh: 1, [outcome]: 1 })
    },
  )

  it.each(['nothing', 'question', 'turns'])(
    'and before its first update is replaced by one that gets the prompt, and knows nothing twice (keeps: %s)',
    async keeps => {
      await using hosting = await openHosting()
      const host = hosting.host(agentCommand('dies', `--keeps=${keeps}`))
      await host.say('talk', first)
      hosting.model.answerTo(second, { type: 'die' })
      const { memory } = await host.say('talk', second)
      expect(memory).toMatchObject({ outcome: 'injected', injected: 2 })
      expectOnce(hosting, first, answerMarker(1), second)
    },
  )

  it('twice before its first update is not tried again, and the question is not injected twice', async () => {
    await using hosting = await openHosting()
    const host = hosting.host(agentCommand('dies', '--keeps=question'))
    await host.say('talk', first)
    for (const _ of [1, 2]) hosting.model.answerTo(second, { type: 'die' })
    await expect(host.say('talk', second)).rejects.toThrow(/it ended/)
    await host.say('talk', third)
    expectOnce(hosting, first, answerMarker(1), second, third)
  })

  it('gets the question again with resume(), and not injected besides', async () => {
    await using hosting = await openHosting()
    const host = hosting.host(agentCommand('dies', '--keeps=nothing'))
    await host.say('talk', first)
    for (const _ of [1, 2]) hosting.model.answerTo(second, { type: 'die' })
    await expect(host.say('talk', second)).rejects.toThrow(/it ended/)
    const { text } = await host.resume('talk').result()
    expect(text).toContain(answerMarker(4))
    expectOnce(hosting, first, answerMarker(1), second)
    await expect(host.resume('talk').result()).rejects.toThrow(/nothing to resume/)
  })

  it('because it was killed between two turns is started again, with its memory', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('forgetful')
    await host.say('talk', first)
    const [pid] = host.agents()
    await host.killAgent()
    await vi.waitUntil(() => host.isFirstMessage('talk'), { interval: 5 })
    const { memory } = await host.say('talk', second)
    expect(memory).toMatchObject({ outcome: 'injected', injected: 2 })
    expect(host.agents()).not.toContain(pid)
    expectOnce(hosting, first, answerMarker(1), second)
  })
})

describe('an agent that cannot be used', () => {
  it('is reported with its stderr if it cannot be started, and the message is stored (S4-42)', async () => {
    await using hosting = await openHosting()
    const host = hosting.host([process.execPath, '-e', 'console.error("no licence"); process.exit(3)'], {
      name: 'sad',
    })
    await expect(host.say('talk', first)).rejects.toThrow(/sad.*no licence/s)
    expect(await hosting.words('talk')).toEqual([`user: ${first}`])
  })

  it('because it never answers `initialize` can be aborted, and its process is ended', async () => {
    await using hosting = await openHosting()
    const host = hosting.host([process.execPath, '-e', 'setInterval(() => {}, 1000)'], { name: 'mute' })
    const run = host.send('talk', first)
    await vi.waitUntil(() => host.agents().length === 1, { interval: 5 })
    run.abort(new DOMException('enough', 'AbortError'))
    expect(await run.result()).toMatchObject({ status: 'interrupted', stop: 'aborted' })
    const again = host.send('talk', second)
    await host.close()
    expect(await again.result()).toMatchObject({ status: 'interrupted' })
    expect(host.agents()).toEqual([])
    expect(await hosting.words('talk')).toEqual([`user: ${first}`, `user: ${second}`])
  })

  it.each([
    [-32_000, /sign in first/],
    [-32_800, /no session/],
  ])('throws %i when its session is resumed, and no other way is tried', async (code, message) => {
    await using hosting = await openHosting()
    const command = agentCommand('unknown-codes', `--code=${code}`)
    await hosting.host(command).say('talk', first)
    const host = hosting.host(command)
    await expect(host.say('talk', second)).rejects.toThrow(message)
    expect(hosting.model.turns).toHaveLength(1)
    expect(await hosting.words('talk')).toHaveLength(3)
    expect(host.outcomes()).toEqual({ resumed: 0, loaded: 0, completed: 0, injected: 0, fresh: 0 })
  })
})
