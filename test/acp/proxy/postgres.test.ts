import { expect, it } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { postgresUrl } from '../../support/postgres-url.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'

it('remembers in PostgreSQL as well, and continues there from another process', async () => {
  const url = await createDatabase(await postgresUrl())
  await using stage = await openStage()
  const command = behindProxy(agentCommand('forgetful'), '--db', url)
  const before = await stage.start(command)
  const id = await before.newSession()
  await before.prompt(id, marker('first'))
  const elsewhere = await stage.start(command)
  await elsewhere.load(id)
  await elsewhere.prompt(id, marker('second'))
  // The first agent does not know the messages of the other process.
  await before.prompt(id, marker('third'))
  const once = ['first', 'second', 'third'].map(marker)
  expect([...once, answerMarker(1), answerMarker(2)].map(text => timesGiven(stage.model.last, text))).toEqual(
    [1, 1, 1, 1, 1],
  )
  await Promise.all([before.kill9(), elsewhere.kill9()])
  const after = await stage.start(command)
  await after.load(id)
  expect(once.map(text => after.thread(id).times(text))).toEqual([1, 1, 1])
  expect(after.complaints).not.toMatch(/postgresql:\/\/[^ ]*:[^*@ ]+@/)
})
