import { describe, expect, it } from 'vitest'
import { isFull, size } from '../../battery/size.ts'
import { type AgentName, agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { untilDrafted } from './stored.ts'

/** With any agent behind the proxy, an ordinary editor keeps its memory when everything is killed: the model
 *  receives every earlier turn once, and the editor shows every message once. */

type Agent = readonly [AgentName, ...string[]]

const agents: readonly Agent[] = [
  ['forgetful'],
  ['liar'],
  ['empty-load'],
  ['early-load'],
  ['dies', '--keeps=question'],
  ['dies', '--keeps=turns'],
  ['repeats'],
  ['joins'],
  ['unknown-codes', '--code=-32603'],
  ['strange'],
  ['good'],
  ['good', '--system-prompt', '--without=load,resume'],
]
const more: readonly Agent[] = [
  ['dies', '--keeps=nothing'],
  ['unknown-codes', '--code=-32002'],
  ['unknown-codes', '--code=-32602'],
  ['good', '--without=resume'],
  ['good', '--without=load'],
  ['good', '--system-prompt'],
]
const everyAgent = size({ gate: agents, full: [...agents, ...more] })
const cutOff = size({ gate: [agents[0]!, agents[4]!, agents[5]!, agents[10]!], full: everyAgent })

const [first, second, third, fourth] = ['first', 'second', 'third', 'fourth'].map(marker) as [
  string,
  string,
  string,
  string,
]
const half = 'HALF-OF-AN-ANSWER'
const named = (list: readonly Agent[]) =>
  list.map(([name, ...flags]) => ({
    title: [name, ...flags].join(' '),
    command: behindProxy(agentCommand(name, ...flags)),
  }))

/** Each of these once, in all messages. */
function once(...texts: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(texts.map(text => [text, 1]))
}

function counted(times: (text: string) => number, texts: Readonly<Record<string, number>>) {
  return Object.fromEntries(Object.keys(texts).map(text => [text, times(text)]))
}

describe('an agent behind the proxy, after everything was killed', () => {
  it.each(named(everyAgent))(
    'knows all earlier messages, and the editor shows them: $title (S4-1, S4-41)',
    async ({ command }) => {
      await using stage = await openStage()
      const before = await stage.start(command)
      const id = await before.newSession()
      await before.prompt(id, first)
      await before.prompt(id, second)
      const alive = once(first, second, answerMarker(1))
      expect(counted(text => timesGiven(stage.model.last, text), alive)).toEqual(alive)
      await before.kill9()

      const after = await stage.start(command)
      await after.load(id)
      const replayed = once(first, second, answerMarker(1), answerMarker(2))
      expect(counted(after.thread(id).times, replayed)).toEqual(replayed)
      const words = after.thread(id).messages.filter(({ role }) => role === 'user')
      expect(words.map(({ text }) => text)).toEqual([first, second])
      await after.prompt(id, third)
      const given = once(first, second, third, answerMarker(1), answerMarker(2))
      expect(counted(text => timesGiven(stage.model.last, text), given)).toEqual(given)
      const shown = once(first, second, third, answerMarker(1), answerMarker(2), answerMarker(3))
      expect(counted(after.thread(id).times, shown)).toEqual(shown)
      if (!isFull) return
      await after.kill9()

      const again = await stage.start(command)
      await again.load(id)
      await again.prompt(id, fourth)
      const all = once(first, second, third, fourth, answerMarker(1), answerMarker(2), answerMarker(3))
      expect(counted(text => timesGiven(stage.model.last, text), all)).toEqual(all)
      expect(counted(again.thread(id).times, all)).toEqual(all)
      expect(await again.end()).toBe(0)
    },
  )

  it.each(named(cutOff))('knows what had arrived of an answer: $title', async ({ command }) => {
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
    const replayed = once(first, second, half, answerMarker(1))
    expect(counted(after.thread(id).times, replayed)).toEqual(replayed)
    await after.prompt(id, third)
    const given = once(first, second, third, half, answerMarker(1))
    expect(counted(text => timesGiven(stage.model.last, text), given)).toEqual(given)
    expect(await after.end()).toBe(0)
  })
})
