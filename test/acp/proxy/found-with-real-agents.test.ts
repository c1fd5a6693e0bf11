import { expect, it } from 'vitest'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'

/** Behaviour that we found with real agents behind the proxy, repeated by agents of the tests. */

it("does not inject a turn again whose answer has a notice of the agent's own before it (codex, pi)", async () => {
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

it('does not list deleted sessions again if the agent can list but not delete (goose, copilot)', async () => {
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
