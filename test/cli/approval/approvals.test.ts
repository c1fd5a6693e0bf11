import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { createClient } from '../../../src/client/index.ts'
import { start, storeOf } from '../running.ts'
import { home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

it('lists the calls that wait in a service, and answers them once, from the shell and over HTTP', async () => {
  using here = home()
  const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
  mkdirSync(folder, { recursive: true })
  const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')
  const mcp = { files: { command: process.execPath, args: [server] } }
  writeFileSync(join(folder, 'skein.yaml'), JSON.stringify({ mcp, tools: { ask: ['files_pid'] } }))
  expect((await here.skein(['approvals'])).stderr).toBe('no call waits for an approval\n')
  const service = start(here, ['serve', '--port', '0', '--json'])
  await service.says('"model"')
  const { url } = JSON.parse(service.printed()) as { url: string }
  const client = createClient({ url, token: readFileSync(join(folder, 'token'), 'utf8').trim() })
  const { id } = await client.createConversation({})
  const askAndWait = async () => {
    const { turn } = await client.ask(id, { content: '/tool files_pid {}' })
    await expect.poll(async () => (await client.getTurn(id, turn)).status).toBe('interrupted')
    const { approvals } = JSON.parse((await here.skein(['approvals', '--json'])).stdout)
    expect(approvals).toMatchObject([{ name: 'files_pid', conversation: id, status: 'pending' }])
    return { turn, approval: approvals[0].id as string }
  }
  // Denied in the shell: the service continues the turn when it is asked to.
  const first = await askAndWait()
  const listed = await here.skein(['approvals'])
  expect(listed.stdout).toContain(first.approval.slice(0, 6))
  const denied = await here.skein(['approvals', 'deny', first.approval.slice(0, 8), '--reason', 'not today'])
  expect(denied.stderr).toContain('denied: files_pid')
  const again = await here.skein(['approvals', 'approve', first.approval])
  expect([again.code, again.stderr]).toEqual([
    3,
    expect.stringMatching(/there is no approval.*skein approvals/),
  ])
  // Approved over HTTP, once.
  const second = await askAndWait()
  expect(await client.answerApproval(id, second.approval, { answer: 'allow' })).toMatchObject({
    resumed: true,
  })
  await expect(client.answerApproval(id, second.approval, { answer: 'deny' })).rejects.toMatchObject({
    status: 409,
  })
  await expect.poll(async () => (await client.getTurn(id, second.turn)).status).toBe('complete')
  service.kill('SIGTERM')
  await service.ended
  await using store = await storeOf(here)
  const { items } = await store.listEvents(id, { types: ['tool_started'] })
  expect(items).toHaveLength(1)
})
