import { expect, it } from 'vitest'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'

/** What real agents did behind the proxy, and ours do again. */

it('tells an agent nothing twice that says something of its own before an answer (codex, pi)', async () => {
  await using stage = await openStage()
  const command = behindProxy(agentCommand('notices'))
  const before = await stage.start(command)
  const sessionId = await before.newSession()
  await before.prompt(sessionId, marker('first'))
  await before.kill9()
  const after = await stage.start(command)
  await after.load(sessionId)
  await after.prompt(sessionId, marker('second'))
  expect(timesGiven(stage.model.last, marker('first'))).toBe(1)
  expect(timesGiven(stage.model.last, answerMarker(1))).toBe(1)
  expect(after.thread(sessionId).times(answerMarker(1))).toBe(1)
})

it('lists nothing again that was deleted, where the agent itself can only list (goose, copilot)', async () => {
  await using stage = await openStage()
  const command = behindProxy(agentCommand('good', '--without=delete'))
  const before = await stage.start(command)
  const [gone, kept] = [await before.newSession(), await before.newSession()]
  await before.prompt(gone, marker('gone'))
  await before.prompt(kept, marker('kept'))
  await before.kill9()
  const after = await stage.start(command)
  await after.request('session/delete', { sessionId: gone })
  const { sessions } = await after.request('session/list', { cwd: stage.cwd })
  expect(sessions.map((one: { sessionId: string }) => one.sessionId)).toEqual([kept])
})
