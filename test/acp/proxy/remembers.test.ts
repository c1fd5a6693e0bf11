import { describe, expect, it } from 'vitest'
import { type AgentName, agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { untilDrafted } from './stored.ts'

/** With any agent behind the proxy, an editor that knows nothing of us keeps its memory when everything is killed: the model is given
 *  every earlier turn once, and the editor is shown every message once. */

const agents: readonly (readonly [AgentName, ...string[]])[] = [
  ['forgetful'],
  ['liar'],
  ['empty-load'],
  ['early-load'],
  ['dies', '--keeps=nothing'],
  ['dies', '--keeps=question'],
  ['dies', '--keeps=turns'],
  ['repeats'],
  ['joins'],
  ['unknown-codes', '--code=-32002'],
  ['unknown-codes', '--code=-32602'],
  ['unknown-codes', '--code=-32603'],
  ['strange'],
  ['good'],
  ['good', '--without=resume'],
  ['good', '--without=load'],
  ['good', '--system-prompt'],
  ['good', '--system-prompt', '--without=load,resume'],
]
const [first, second, third, fourth] = ['first', 'second', 'third', 'fourth'].map(marker) as [
  string,
  string,
  string,
  string,
]
const half = 'HALF-OF-AN-ANSWER'

describe.each(agents.map(([name, ...flags]) => ({ name, flags })))('$name $flags', ({ name, flags }) => {
  const command = behindProxy(agentCommand(name, ...flags))

  it('knows what was said before everything was killed', async () => {
    await using stage = await openStage()
    const before = await stage.start(command)
    const id = await before.newSession()
    await before.prompt(id, first)
    await before.prompt(id, second)
    await before.kill9()

    const after = await stage.start(command)
    await after.load(id)
    const shown = after.thread(id)
    expect(shown.messages.filter(({ role }) => role === 'user').map(({ text }) => text)).toEqual([
      first,
      second,
    ])
    for (const text of [first, second, answerMarker(1), answerMarker(2)]) expect(shown.times(text)).toBe(1)

    await after.prompt(id, third)
    for (const text of [first, second, third, answerMarker(1), answerMarker(2)])
      expect([text, timesGiven(stage.model.last, text)]).toEqual([text, 1])
    for (const text of [first, second, third, answerMarker(1), answerMarker(3)])
      expect([text, after.thread(id).times(text)]).toEqual([text, 1])
    await after.kill9()

    const again = await stage.start(command)
    await again.load(id)
    await again.prompt(id, fourth)
    for (const text of [first, second, third, fourth, answerMarker(1), answerMarker(3)]) {
      expect([text, timesGiven(stage.model.last, text)]).toEqual([text, 1])
      expect([text, again.thread(id).times(text)]).toEqual([text, 1])
    }
    expect(await again.end()).toBe(0)
  })

  it('knows what had arrived of an answer when everything was killed in the middle of it', async () => {
    await using stage = await openStage()
    const before = await stage.start(command)
    const id = await before.newSession()
    await before.prompt(id, first)
    stage.model.next({ type: 'text', text: half }, { type: 'wait' })
    before.prompt(id, second).catch(() => undefined)
    await before.untilShown(id, half)
    await untilDrafted(stage, half)
    await before.kill9()

    const after = await stage.start(command)
    await after.load(id)
    for (const text of [first, second, half, answerMarker(1)])
      expect([text, after.thread(id).times(text)]).toEqual([text, 1])
    await after.prompt(id, third)
    for (const text of [first, second, third, half, answerMarker(1)])
      expect([text, timesGiven(stage.model.last, text)]).toEqual([text, 1])
    expect(await after.end()).toBe(0)
  })
})
