import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/tools/tool.ts'
import { createClient } from '../../src/client/index.ts'
import { textOf } from '../../src/core/message.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { pathOf } from '../../src/core/path.ts'
import { size } from '../battery/size.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { startService, type TestService } from './harness.ts'

const engines = [
  { engine: 'SQLite', database: async () => undefined },
  { engine: 'PostgreSQL', database: async () => createDatabase(await postgresUrl()) },
]

/** A tool that needs an approval and counts its runs. */
function guarded() {
  let runs = 0
  const deploy = tool({
    description: 'Deploys',
    input: z.object({ service: z.string() }),
    needsApproval: true,
    run: ({ service }) => `${service} ${++runs}`,
  })
  return { tools: { deploy }, runs: () => runs }
}

const call = (id: string, service: string) => ({ name: 'deploy', id, input: { service } })
const clientOf = ({ url, token }: TestService) => createClient({ url, token })

/** Asks, and returns when the turn has ended. */
async function ask(service: TestService, id: string, content: string): Promise<string> {
  const { turn } = await clientOf(service).ask(id, { content })
  await expect
    .poll(async () => (await service.store.findTurn(id, turn))?.status, { timeout: 20_000 })
    .not.toBe('open')
  return turn
}

describe.each(engines)('approvals over HTTP on $engine', ({ database }) => {
  it('are listed, answered after a restart of the service, and continue the turn', async () => {
    const { tools, runs } = guarded()
    const db = await database()
    const first = await startService({
      ...(db !== undefined && { db }),
      tools,
      script: [{ text: 'I will.', calls: [call('c1', 'shop'), call('c2', 'blog')] }],
    })
    const id = (await first.store.create()).conversation.id
    const turn = await ask(first, id, 'Deploy both')
    expect(await first.store.findTurn(id, turn)).toMatchObject({ status: 'interrupted', leaseUntil: null })
    await using service = await startService({ db: first.db, tools, script: ['The shop is deployed.'] })
    const client = clientOf(service)
    const { approvals } = await client.listApprovals(id)
    expect(approvals.map(({ title, status }) => [title, status]).sort()).toEqual([
      ['deploy blog', 'pending'],
      ['deploy shop', 'pending'],
    ])
    expect(await client.listAllApprovals()).toEqual({ approvals })
    const find = (title: string) => approvals.find(one => one.title === title)!
    const denied = await client.answerApproval(id, find('deploy blog').id, {
      answer: 'deny',
      comment: 'it is Friday',
    })
    expect([denied.resumed, denied.approval.status, runs()]).toEqual([false, 'answered', 0])
    const allowed = await client.answerApproval(id, find('deploy shop').id, { answer: 'allow', by: 'ada' })
    expect([allowed.resumed, allowed.approval.answered_by]).toEqual([true, 'ada'])
    await expect
      .poll(async () => (await service.store.findTurn(id, turn))?.status, { timeout: 20_000 })
      .toBe('complete')
    expect(runs()).toBe(1)
    const { head } = await service.store.getBranch({ conversationId: id, name: 'main' })
    const path = await pathOf(service.store, head!)
    expect(JSON.stringify(path.map(({ content }) => content))).toContain('it is Friday')
    expect(textOf(path.at(-1)!)).toBe('The shop is deployed.')
    await expect(client.answerApproval(id, find('deploy shop').id, { answer: 'deny' })).rejects.toMatchObject(
      {
        status: 409,
        code: 'expired',
      },
    )
    expect(await client.getApproval(id, find('deploy shop').id)).toMatchObject({ answer: 'allow' })
    await first.close()
  })

  it('are answered once if many clients of two services answer at the same moment', async () => {
    const { tools, runs } = guarded()
    const db = await database()
    const rounds = size({ gate: 3, full: 20 })
    const script = ({ messages }: ModelRequest) =>
      messages.at(-1)!.role === 'user' ? { calls: [call('c1', 'shop')] } : 'done'
    await using one = await startService({ ...(db !== undefined && { db }), tools, script })
    await using two = await startService({ db: one.db, tools, script })
    const clients = Array.from({ length: 8 }, (_, i) => clientOf(i % 2 === 0 ? one : two))
    for (let round = 0; round < rounds; round++) {
      const id = (await one.store.create()).conversation.id
      const turn = await ask(one, id, 'go')
      const [waiting] = await one.store.listApprovals({ conversationId: id })
      const results = await Promise.allSettled(
        // The turn is resumed by one of the services.
        clients.map((client, i) => client.answerApproval(id, waiting!.id, { answer: 'allow', by: `${i}` })),
      )
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ status: 409 })
      await expect
        .poll(async () => (await one.store.findTurn(id, turn))?.status, { timeout: 20_000 })
        .toBe('complete')
      expect(runs()).toBe(round + 1)
    }
  }, 120_000)
})

it('tells followers of a call that waits, and of its answer', async () => {
  const { tools } = guarded()
  await using service = await startService({ tools, script: [{ calls: [call('c1', 'shop')] }, 'done'] })
  const client = clientOf(service)
  const id = (await service.store.create()).conversation.id
  const stop = new AbortController()
  const seen: string[] = []
  for await (const { event } of client.follow({ conversations: [id], signal: stop.signal })) {
    if (event.type === 'branches') await client.ask(id, { content: 'go' })
    if (event.type !== 'approval') continue
    seen.push(`${event.approval.title} ${event.approval.status}`)
    if (event.approval.status === 'answered') stop.abort()
    else await client.answerApproval(id, event.approval.id, { answer: 'deny' })
  }
  expect(seen).toEqual(['deploy shop pending', 'deploy shop answered'])
})

it('names the calls that wait in the events of the turn', async () => {
  const { tools } = guarded()
  await using service = await startService({ tools, script: [{ calls: [call('c1', 'shop')] }] })
  const id = (await service.store.create()).conversation.id
  const events = []
  for await (const event of clientOf(service).askEvents(id, { content: 'go' })) events.push(event)
  expect(events.at(-1)).toMatchObject({ type: 'ended', status: 'interrupted', stop: 'approval' })
  const [waiting] = await service.store.listApprovals()
  expect(events.at(-1)).toMatchObject({ approvals: [{ id: waiting!.id, title: 'deploy shop' }] })
})
