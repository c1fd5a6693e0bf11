import { expect, it } from 'vitest'
import { sourceCommand } from '../cli/built-command.ts'
import { coverageFolder, stationsOf } from '../support/map-walk.ts'
import { agentCommand, openStage } from './agents/harness.ts'

it('docs/map.md walks an ACP prompt through files which all run', async () => {
  const stations = stationsOf('Walk 2')
  expect(stations.length).toBeGreaterThan(8)
  using coverage = coverageFolder()
  await using stage = await openStage()
  const options = { env: { ...stage.env, ...coverage.env } }
  const command = [process.execPath, sourceCommand, 'acp', '--', ...agentCommand('good')]

  const first = await stage.start(command, options)
  const sessionId = await first.newSession()
  await first.prompt(sessionId, 'hi')
  expect(await first.end()).toBe(0)
  // After a restart the agent has to be given its memory back.
  const second = await stage.start(command, options)
  await second.load(sessionId)
  await second.prompt(sessionId, 'hi again')
  expect(await second.end()).toBe(0)

  const ran = coverage.filesThatRan()
  expect(stations.filter(path => !ran.has(path))).toEqual([])
})
