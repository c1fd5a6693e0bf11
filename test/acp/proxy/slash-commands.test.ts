import { expect, it } from 'vitest'
import type { AcpClient } from '../agents/client.ts'
import { agentCommand, behindProxy, openStage, type Stage } from '../agents/harness.ts'

/** A slash command in the first prompt after a hand-over: the agent must find it at the beginning. */

const behind = (name: string) => behindProxy(agentCommand('adjustable'), '--name', name)

/** A conversation that one agent has begun, open in an editor with another one that has sent its commands. */
async function handedOver(stage: Stage): Promise<{ editor: AcpClient; id: string }> {
  const before = await stage.start(behind('one'))
  const id = await before.newSession()
  await before.prompt(id, 'the first question')
  await before.end()
  const editor = await stage.start(behind('two'))
  await editor.load(id)
  await editor.until(() => editor.updates(id).some(one => one.sessionUpdate === 'available_commands_update'))
  return { editor, id }
}

/** The texts of every prompt that the agent has got. */
async function promptsOf(editor: AcpClient, id: string): Promise<readonly (readonly string[])[]> {
  await editor.prompt(id, 'prompts')
  const chunks = editor.updates(id).filter(one => one.sessionUpdate === 'agent_message_chunk')
  return JSON.parse((chunks.at(-1)!.content as { text: string }).text) as string[][]
}

it('sends a slash command alone, and tells the conversation with the next prompt, once', async () => {
  await using stage = await openStage()
  const { editor, id } = await handedOver(stage)
  await editor.prompt(id, '/init be brief')
  await editor.prompt(id, '/compact')
  await editor.prompt(id, 'continue')
  const [first, second, third, last] = await promptsOf(editor, id)
  expect([first, second, last]).toEqual([['/init be brief'], ['/compact'], ['prompts']])
  expect(third).toEqual([expect.stringContaining('the first question'), 'continue'])
  expect(third![0]).not.toContain('/init')
})

it('tells the conversation before a text that only looks like a command', async () => {
  await using stage = await openStage()
  const { editor, id } = await handedOver(stage)
  await editor.prompt(id, '/tmp is full')
  const [first] = await promptsOf(editor, id)
  expect(first).toEqual([expect.stringContaining('the first question'), '/tmp is full'])
})

it('tells everything to the next process if the agent dies after a command', async () => {
  await using stage = await openStage()
  const { editor, id } = await handedOver(stage)
  await editor.prompt(id, '/init')
  await editor.prompt(id, 'die').catch(() => undefined)
  const [told] = (await promptsOf(editor, id))[0]!
  expect(told).toContain('the first question')
  expect(told).toContain('/init')
})
