import { expect, it } from 'vitest'
import { pathOf } from '../../../src/core/path.ts'
import { agentHome } from '../../cli/agent/with-agents.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { marker, timesGiven } from '../agents/model-server.ts'
import { storeOf } from './stored.ts'

const key = 'discord:dm:80351110224678912'
const words = 'DISCORD-WORDS: the release is on Friday.'
const said = [
  { role: 'user', content: words, metadata: { author: { id: '80351110224678912', name: 'ada' } } },
  { role: 'assistant', content: 'DISCORD-ANSWER: noted.' },
] as const

/** A direct message of Discord, as `skein discord` stores it: a key, and no directory. */
async function talk(place: Parameters<typeof storeOf>[0]): Promise<string> {
  await using store = await storeOf(place)
  const { conversation, branch } = await store.findOrCreate(key, { channel: 'discord' })
  await store.append(branch, null, [...said])
  return conversation.id
}

it('a talk begun in Discord continues in an editor’s agent', async () => {
  await using stage = await openStage()
  const id = await talk(stage)
  const editor = await stage.start(behindProxy(agentCommand('forgetful')))
  await editor.load(id)
  expect([words, 'DISCORD-ANSWER: noted.'].map(text => editor.thread(id).times(text))).toEqual([1, 1])
  await editor.prompt(id, marker('editor'))
  expect(timesGiven(stage.model.last, words)).toBe(1)
  await editor.end()
  await using store = await storeOf(stage)
  const { conversation, branch } = (await store.findByKey(key))!
  expect([conversation.id, conversation.channel, conversation.directory]).toEqual([id, 'discord', null])
  const path = await pathOf(store, branch.head!)
  expect(path.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  // A list of the directory has it from now on.
  const again = await stage.start(behindProxy(agentCommand('forgetful')))
  const { sessions } = await again.request('session/list', { cwd: stage.cwd })
  expect(sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([id])
  await again.end()
})

it('and in a terminal chat with any agent', async () => {
  await using at = await agentHome()
  await talk(at.here)
  const { code, stdout, stderr } = await at.piped(['-c', key], 'forgetful', { input: `${marker('shell')}\n` })
  expect([code, stderr, stdout.length > 0]).toEqual([0, expect.stringContaining('told 2 messages'), true])
  expect(timesGiven(at.model.last, words)).toBe(1)
})
