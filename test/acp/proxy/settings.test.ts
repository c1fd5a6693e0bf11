import { expect, it } from 'vitest'
import type { AcpClient } from '../agents/client.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'

/** Modes, models and options behind the proxy: as they are now, and again after the death of the agent. */

/** The settings that the agent itself has in a session. */
async function settingsIn(editor: AcpClient, id: string): Promise<unknown> {
  await editor.prompt(id, 'settings')
  const chunks = editor.updates(id).filter(one => one.sessionUpdate === 'agent_message_chunk')
  const { mode, model, thinks } = JSON.parse((chunks.at(-1)!.content as { text: string }).text)
  return { mode, model, thinks }
}

/** The same, as an editor is told when it opens the session again. */
async function optionsOf(editor: AcpClient, id: string): Promise<unknown> {
  const { configOptions } = await editor.load(id)
  return Object.fromEntries(
    (configOptions as { id: string; currentValue: unknown }[]).map(one => [one.id, one.currentValue]),
  )
}

it('keeps options that the editor has set and those that the agent has changed, also after its death', async () => {
  await using stage = await openStage()
  const editor = await stage.start(behindProxy(agentCommand('adjustable')))
  const sessionId = await editor.newSession()
  const set = (params: object) => editor.request('session/set_config_option', { sessionId, ...params })
  await set({ configId: 'llm', value: 'large' })
  await set({ configId: 'thinks', type: 'boolean', value: true })
  await editor.prompt(sessionId, 'mode plan') // by the agent itself
  expect(await optionsOf(editor, sessionId)).toEqual({ mode: 'plan', llm: 'large', thinks: true })
  await editor.prompt(sessionId, 'die').catch(() => undefined)
  expect(await settingsIn(editor, sessionId)).toEqual({ mode: 'plan', model: 'large', thinks: true })
  expect(await optionsOf(editor, sessionId)).toEqual({ mode: 'plan', llm: 'large', thinks: true })
})

it('does the same for modes and models of older agents', async () => {
  await using stage = await openStage()
  const editor = await stage.start(behindProxy(agentCommand('adjustable', '--older')))
  const sessionId = await editor.newSession()
  await editor.request('session/set_model', { sessionId, modelId: 'large' })
  await editor.request('session/set_mode', { sessionId, modeId: 'code' })
  await editor.prompt(sessionId, 'mode plan')
  await editor.prompt(sessionId, 'die').catch(() => undefined)
  // A setting before the next prompt must not hide the others.
  await editor.request('session/set_mode', { sessionId, modeId: 'ask' })
  expect(await settingsIn(editor, sessionId)).toEqual({ mode: 'ask', model: 'large', thinks: false })
})
