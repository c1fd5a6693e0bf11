import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { note } from '../../battery/note.ts'
import { seededRandom } from '../../battery/random.ts'
import { size } from '../../battery/size.ts'
import type { AcpClient } from '../agents/client.ts'
import { type AgentName, agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { marker, slowly, timesGiven } from '../agents/model-server.ts'

/** Kills at random moments: of the agent alone, or of everything. From then on, every shown message is given
 *  to the model exactly once, and shown to the editor exactly once. */

const agents: readonly (readonly [AgentName, ...string[]])[] = [
  ['forgetful'],
  ['dies', '--keeps=question'],
  ['good', '--without=resume'],
  ['dies', '--keeps=turns'],
  ['empty-load'],
  ['early-load'],
  ['repeats'],
  ['joins'],
  ['liar'],
  ['good', '--without=load,resume', '--system-prompt'],
]
const rounds = size({ gate: 4, full: 50 })
const prompts = 4

interface Said {
  readonly question: string
  readonly reply: string
  /** Whether the editor has shown a part of the answer, all of it, or another one. */
  answered: 'nothing' | 'something' | 'all' | 'otherwise'
}

describe('kills at random points', () => {
  it('leave every turn exactly once (S4-1, S4-2, S4-3)', {
    timeout: size({ gate: 180_000, full: 1_800_000 }),
  }, async () => {
    const seed = Number(process.env.PROPERTY_SEED ?? Math.floor(Math.random() * 2 ** 31))
    const random = seededRandom(seed)
    const kills = { all: 0, agent: 0 }
    for (let round = 0; round < rounds; round++) {
      const [name, ...flags] = agents[round % agents.length]!
      const trouble = await play(behindProxy(agentCommand(name, ...flags)), random, kills)
      expect({ seed, round, name, trouble }).toEqual({ seed, round, name, trouble: [] })
    }
    note('rounds', rounds)
    note('kills of everything', kills.all)
    note('kills of the agent', kills.agent)
    note('seed', String(seed))
  })
})

async function play(
  command: readonly string[],
  random: () => number,
  kills: { all: number; agent: number },
): Promise<readonly string[]> {
  await using stage = await openStage()
  let editor = await stage.start(command)
  let id = await editor.newSession()
  const said: Said[] = []
  for (let n = 0; n < prompts; n++) {
    const one: Said = { question: marker(`q${n}`), reply: `REPLY-${n}.`, answered: 'nothing' }
    stage.model.answerTo(
      one.question,
      { type: 'text', text: one.reply },
      ...slowly(' and so on'.repeat(8), 10),
    )
    const prompted = editor.prompt(id, one.question).then(
      ({ stopReason }) => stopReason === 'end_turn',
      () => false,
    )
    const kind = random() < 0.25 ? 'none' : random() < 0.5 ? 'all' : 'agent'
    if (kind !== 'none') {
      await Promise.race([prompted, pause(random() * 250)])
      await (kind === 'all' ? editor.kill9() : killAgent(editor))
      kills[kind]++
    }
    const isWhole = await prompted
    // An agent that was killed before its first update is replaced by one that gets the prompt, and answers
    // with another text.
    const isSeen = editor.thread(id).times(one.reply) > 0
    one.answered = isSeen ? (isWhole ? 'all' : 'something') : isWhole ? 'otherwise' : 'nothing'
    said.push(one)
    if (kind !== 'all') continue
    editor = await stage.start(command)
    id = await openAgain(editor, id, said)
  }
  await editor.prompt(id, marker('last'))
  const given = (text: string) => timesGiven(stage.model.last, text)
  await editor.kill9()
  editor = await stage.start(command)
  await editor.load(id)
  const shown = (text: string) => editor.thread(id).times(text)
  return said.flatMap(({ question, reply, answered }) =>
    Object.entries({ given, shown }).flatMap(([how, times]) => {
      const [asked, heard] = [times(question), times(reply)]
      // An answer that had only begun may not have been stored yet.
      const isRight =
        asked <= 1 &&
        heard <= 1 &&
        (answered === 'nothing' || asked === 1) &&
        (answered !== 'all' || heard === 1)
      return isRight ? [] : [`${how}: ${question} ${asked} times, ${reply} ${heard} times (${answered})`]
    }),
  )
}

/** Kills the agent behind the proxy, and nothing else. */
async function killAgent(editor: AcpClient): Promise<void> {
  for (const pid of editor.leftovers().filter(one => one !== editor.pid)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it has exited by itself
    }
  }
}

/** A session without stored messages does not exist after the kill: nothing was shown of it, and a new one
 *  begins. */
async function openAgain(editor: AcpClient, id: string, said: Said[]): Promise<string> {
  try {
    await editor.load(id)
    return id
  } catch (error) {
    if (said.some(({ answered }) => answered !== 'nothing')) throw error
    said.length = 0
    return editor.newSession()
  }
}
