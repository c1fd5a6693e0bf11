import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { connectCommand } from '../../mcp/clients.ts'
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

it('gives an agent skein mcp without the address of the store in its arguments', async () => {
  const url = await createDatabase(await postgresUrl())
  await using stage = await openStage()
  const file = join(stage.cwd, '../lines')
  const first = await stage.start(behindProxy(agentCommand('forgetful'), '--db', url))
  const id = await first.newSession()
  await first.prompt(id, 'The staging host is otter.')
  await first.end()
  const writing = ['/bin/sh', '-c', 'file=$1; shift; tee -a "$file" | "$@"', 'sh', file]
  const second = behindProxy([...writing, ...agentCommand('forgetful')], '--name', 'second', '--db', url)
  const editor = await stage.start(second)
  await editor.load(id)
  await editor.prompt(id, 'Which host?')
  const begun = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .find(({ method }) => method === 'session/new')
  const [server] = begun.params.mcpServers
  expect(server.args.join(' ')).not.toContain('postgres')
  expect(server.env).toEqual([{ name: 'SKEIN_DB', value: url }])
  const env = { ...stage.env, SKEIN_DB: server.env[0].value }
  await using mcp = await connectCommand(server.command, server.args, {
    cwd: '/',
    env,
    generation: '2025-11-25',
  })
  expect((await mcp.call('search_conversations', { query: 'otter' })).text).toContain('otter')
  await editor.end()
})
