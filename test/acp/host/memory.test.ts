import { describe, expect, it } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { agentCommand } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { type Hosting, openHosting, type TestHost } from './hosting.ts'

/** What the model of the next prompt receives after the agent's process has ended. */

const [first, second, third] = [marker('first'), marker('second'), marker('third')]

/** One turn, then everything is ended; a second one with a new agent. Its model receives the first turn
 *  exactly once. */
async function acrossDeath(hosting: Hosting, command: readonly string[]): Promise<TestHost> {
  const before = hosting.host(command)
  await before.say('talk', first)
  await before.killAgent()
  await before.close()
  const after = hosting.host(command)
  await after.say('talk', second)
  expectOnce(hosting, first, answerMarker(1), second)
  return after
}

/** The messages to inject: a question and its answer; the strange agent has used a tool besides. */
function toldIn(name: string, outcome: string): number {
  return outcome !== 'injected' ? 0 : name === 'strange' ? 3 : 2
}

function expectOnce({ model }: Hosting, ...texts: readonly string[]): void {
  for (const text of texts) expect([text, timesGiven(model.last, text)]).toEqual([text, 1])
}

describe('an agent whose process has ended knows every earlier turn exactly once', () => {
  it.each([
    ['resumes', ['good'], 'resumed', []],
    ['only loads', ['good', '--without=resume'], 'loaded', []],
    ['answers a load in the middle of its replay', ['early-load'], 'loaded', []],
    ['replays its own context as text of the user', ['repeats'], 'loaded', []],
    ['can neither resume nor load', ['forgetful'], 'injected', []],
    ['joins the blocks of a prompt', ['joins'], 'injected', []],
    ['loads an empty history with success', ['empty-load'], 'injected', []],
    ['advertises everything and knows nothing', ['liar'], 'injected', [-32_002, -32_002]],
    [
      'refuses an unknown session with -32602',
      ['unknown-codes', '--code=-32602'],
      'injected',
      [-32_602, -32_602],
    ],
    [
      'refuses an unknown session with -32603',
      ['unknown-codes', '--code=-32603'],
      'injected',
      [-32_603, -32_603],
    ],
    [
      'lacks the method that it advertises',
      ['unknown-codes', '--code=-32601'],
      'injected',
      [-32_601, -32_601],
    ],
    ['sends unknown updates', ['strange'], 'injected', []],
  ] as const)(
    'if it %s (S4-3, S4-4, S4-5, S4-6, S4-7, S4-8, S4-9, S4-39)',
    async (_, [name, ...flags], outcome, codes) => {
      await using hosting = await openHosting()
      const host = await acrossDeath(hosting, agentCommand(name, ...flags))
      const [begun, again] = await hosting.traces('talk', 'resume')
      expect(begun!.data).toMatchObject({ outcome: 'fresh', injected: 0, failed: [] })
      expect(again!.data).toMatchObject({ outcome, injected: toldIn(name, outcome) })
      expect((again!.data.failed as { code: number }[]).map(({ code }) => code)).toEqual(codes)
      expect(host.outcomes()).toEqual({
        ...{ resumed: 0, loaded: 0, completed: 0, injected: 0, fresh: 0 },
        [outcome]: 1,
      })
      expect(await host.wasResumed('talk')).toBe(
        outcome === 'resumed' || outcome === 'loaded' || name === 'empty-load',
      )
      await host.say('talk', third)
      expectOnce(hosting, first, answerMarker(1), second, answerMarker(2), third)
      const said = (await hosting.said('talk')).filter(({ role }) => role !== 'tool_result')
      const questions = said.filter(({ role }) => role === 'user').map(textOf)
      expect(questions, 'the injected text is not stored as a message').toEqual([first, second, third])
    },
  )
})
